# syntax=docker/dockerfile:1
# The page in a container. CPU:  docker build -t dsbd . && docker run -p 7860:7860 dsbd
# NVIDIA: docker build -t dsbd-cuda --build-arg TORCH=cuda . && docker run --gpus all -p 7860:7860 dsbd-cuda
ARG PYTHON=3.12
FROM python:${PYTHON}-slim

# "cpu" takes torch without CUDA, which is a tenth of the size; "cuda" takes the usual one.
ARG TORCH=cpu
RUN useradd --create-home --uid 1000 page
WORKDIR /home/page/dsbd
COPY requirements.txt .
RUN case "$TORCH" in \
      cpu) pip install --no-cache-dir --extra-index-url https://download.pytorch.org/whl/cpu \
             "torch==$(sed -n 's/^torch>=.*,<=//p' requirements.txt)+cpu" -r requirements.txt "gradio[mcp]" ;; \
      cuda) pip install --no-cache-dir -r requirements.txt "gradio[mcp]" ;; \
      *) echo "TORCH is cpu or cuda, not $TORCH"; exit 1 ;; \
    esac
COPY --chown=page . .

USER page
ENV GRADIO_SERVER_NAME=0.0.0.0 GRADIO_SERVER_PORT=7860 PYTHONUNBUFFERED=1
EXPOSE 7860
HEALTHCHECK --interval=30s --timeout=5s --start-period=120s --retries=3 \
  CMD ["python", "-c", "import urllib.request; urllib.request.urlopen('http://127.0.0.1:7860/health', timeout=4)"]
CMD ["python", "app.py"]
