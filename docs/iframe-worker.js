// Browsers give no worker to pages that are opened as files, and the site's search runs in one.
// There its script runs in a hidden frame, which is given what a worker has.
if (location.protocol === "file:") {
  window.Worker = class extends EventTarget {
    #frame = document.createElement("iframe");
    #begun;

    constructor(address) {
      super();
      this.#frame.hidden = true;
      document.body.append(this.#frame);
      const inside = this.#frame.contentWindow;
      inside.document.open();
      inside.document.write("<body>");
      inside.document.close();
      inside.postMessage = (data) => this.#tell(new MessageEvent("message", { data: structuredClone(data) }));
      inside.importScripts = (...more) => more.reduce((before, one) => before.then(() => run(inside, one)), Promise.resolve());
      this.#begun = run(inside, new URL(address, location).href);
      this.#begun.catch(() => this.#tell(new ErrorEvent("error", { message: `${address} cannot be loaded` })));
    }

    postMessage(data) {
      const inside = this.#frame.contentWindow;
      const event = new inside.MessageEvent("message", { data: structuredClone(data) });
      this.#begun.then(() => inside.dispatchEvent(event), () => {});
    }

    terminate() {
      this.#frame.remove();
    }

    #tell(event) {
      this.dispatchEvent(event);
      this[`on${event.type}`]?.(event);
    }
  };

  function run(inside, address) {
    return new Promise((loaded, failed) => {
      const script = inside.document.createElement("script");
      Object.assign(script, { src: address, onload: loaded, onerror: failed });
      inside.document.body.append(script);
    });
  }
}
