/* The viewer as an anywidget: it shares scene and place with Python, both ways. It asks for Plotly once per page. */
let asked = null;

function plotly(model) {
  if (globalThis.Plotly) return Promise.resolve();
  asked ??= new Promise((done) => {
    const hear = async ({dsbd, packed}) => {
      if (dsbd !== "plotly") return;
      model.off("msg:custom", hear);
      dsbdRun(await dsbdUnpack(packed));
      done();
    };
    model.on("msg:custom", hear);
    model.send({dsbd: "plotly"});
  });
  return asked;
}

async function render({model, el}) {
  const place = document.createElement("div");
  el.append(place);
  await plotly(model);
  let opened = false;
  const handle = mount(place, model.get("scene"), {
    onchange: ({it, step}) => {
      if (!opened || (model.get("it") === it && model.get("step") === step)) return;
      model.set("it", it);
      model.set("step", step);
      model.save_changes();
    },
  });
  const follow = () => {
    const {it, step} = handle.where();
    if (it !== model.get("it") || step !== model.get("step")) {
      handle.goto({it: model.get("it"), step: model.get("step")});
    }
  };
  const redraw = () => handle.setScene(model.get("scene"));
  handle.goto({it: model.get("it"), step: model.get("step")});
  opened = true;
  const heard = {"change:it": follow, "change:step": follow, "change:scene": redraw};
  for (const [event, act] of Object.entries(heard)) model.on(event, act);
  return () => {
    for (const [event, act] of Object.entries(heard)) model.off(event, act);
    handle.destroy();
  };
}

export default {render};
