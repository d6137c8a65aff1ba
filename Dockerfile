# The page in a container, as a user without rights.
# CPU:    docker build -t dsbd . && docker run -p 7860:7860 dsbd
# NVIDIA: docker build -t dsbd-cuda --build-arg TORCH=cu128 . && docker run --gpus all -p 7860:7860 dsbd-cuda
ARG PYTHON=3.12
FROM python:${PYTHON}-slim

# Which torch: cpu, or a CUDA that uv knows, such as cu128.
ARG TORCH=cpu
RUN useradd --create-home --uid 1000 page
WORKDIR /home/page/dsbd
COPY requirements.txt ./
RUN pip install --no-cache-dir uv && \
    uv pip install --system --no-cache --torch-backend=${TORCH} -r requirements.txt "mcp>=1.21,<2"
COPY --chown=page . .

USER page
# A new volume takes the owner of the folder that it is mounted on; without one it belongs to root.
RUN mkdir -p /home/page/.cache/huggingface
ENV GRADIO_SERVER_NAME=0.0.0.0 GRADIO_SERVER_PORT=7860 PYTHONUNBUFFERED=1
EXPOSE 7860
HEALTHCHECK --interval=30s --timeout=5s --start-period=120s --retries=3 \
  CMD ["python", "-c", "import urllib.request; urllib.request.urlopen('http://127.0.0.1:7860/gradio_api/dsbd/health', timeout=4)"]
CMD ["python", "app.py"]
