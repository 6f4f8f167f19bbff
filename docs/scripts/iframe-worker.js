// A browser starts no worker for a page that was opened from a folder, and the site's search is one.
// There, a hidden frame stands for the worker: scripts, messages to it and messages from it.
if (location.protocol === "file:") {
  window.Worker = window.IFrameWorker = class extends EventTarget {
    constructor(url) {
      super()
      this.frame = document.createElement("iframe")
      this.frame.hidden = true
      document.body.append(this.frame)
      const inside = this.frame.contentWindow
      inside.postMessage = data => {
        const event = new MessageEvent("message", { data })
        this.dispatchEvent(event)
        if (this.onmessage) this.onmessage(event)
      }
      inside.importScripts = (...urls) =>
        urls.reduce(
          (before, src) =>
            before.then(
              () =>
                new Promise((resolve, reject) => {
                  const script = inside.document.createElement("script")
                  Object.assign(script, { src, onload: resolve, onerror: reject })
                  inside.document.body.append(script)
                })
            ),
          Promise.resolve()
        )
      const script = inside.document.createElement("script")
      script.src = url
      this.loaded = new Promise((resolve, reject) =>
        Object.assign(script, { onload: resolve, onerror: reject })
      )
      inside.document.body.append(script)
    }

    postMessage(data) {
      this.loaded.then(() =>
        this.frame.contentWindow.dispatchEvent(new MessageEvent("message", { data }))
      )
    }

    terminate() {
      this.frame.remove()
    }
  }
}
