// A page that is opened from disk may start no worker: the search's runs in a hidden frame there. The plugin "offline" would fetch a script for this.
if (location.protocol === "file:") {
  class FrameWorker extends EventTarget {
    constructor(url) {
      super();
      const frame = document.body.appendChild(Object.assign(document.createElement("iframe"), { hidden: true, title: "Search" }));
      this.inner = frame.contentWindow;
      this.inner.document.open();
      this.inner.document.write("<body></body>");
      this.inner.document.close();
      this.inner.postMessage = (data) => this.dispatchEvent(new MessageEvent("message", { data }));
      const script = Object.assign(this.inner.document.createElement("script"), { src: url });
      this.loaded = new Promise((done) => script.addEventListener("load", done));
      this.inner.document.body.append(script);
    }
    postMessage(data) {
      this.loaded.then(() => this.inner.dispatchEvent(new MessageEvent("message", { data })));
    }
  }
  const Native = self.Worker;
  self.Worker = function (url, options) {
    return String(url).includes("/workers/search") ? new FrameWorker(url) : new Native(url, options);
  };
}
