/// Keeps the transfer page up to date. The page works without the script: the page's button loads the page again.
enum Script {
    static let text = """
        "use strict";
        const state = document.querySelector("[data-events]");
        if (state) {
          for (const element of document.querySelectorAll("[data-without-script]")) element.hidden = true;
          const source = new EventSource(state.dataset.events);
          source.addEventListener("state", (event) => {
            const change = JSON.parse(event.data);
            if (change.state === "done") {
              source.close();
              window.location.reload();
            } else if (state.dataset.state !== change.state) {
              state.dataset.state = change.state;
              state.textContent = change.text;
            }
          });
        }

        """
}
