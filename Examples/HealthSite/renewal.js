// Two things that the cookies of the app sign-in service let a page's script do. It sees no token: who somebody is, the
// server alone asks.
"use strict";
const { service, cookies } = document.currentScript.dataset;
const infoName = cookies.replace(/access_token$/, "info_token");

// When access and session end, as the info cookie says; null where there is none.
function times() {
  for (const pair of document.cookie.split("; ")) {
    const [name, value] = pair.split("=");
    if (name !== infoName) continue;
    try {
      const info = JSON.parse(decodeURIComponent(value));
      return { access: Date.parse(info.access_token_expiration), session: Date.parse(info.refresh_token_expiration) };
    } catch {
      return null;
    }
  }
  return null;
}

// The refresh cookie is for one address of the service's, and the browser sends it there by itself. The answer is none of
// ours to read: what came of it the info cookie says.
async function renew() {
  const before = times();
  if (!before || before.session <= Date.now()) return false;
  await fetch(`${service}/v0/sign_in/refresh`, { method: "POST", mode: "no-cors", credentials: "include" }).catch(() => {});
  const after = times();
  return after !== null && after.access > before.access;
}

// The app has told this page of a session, or it has not. That is for what is shown first, and for nothing else: anybody can
// write it.
const hint = document.querySelector("[data-hint]");
if (hint) hint.textContent = localStorage.getItem("hasSession") === "true" ? "Welcome back." : "Open this page in the app to sign in.";

// The page was answered by "expired": once it is renewed it is loaded again, and where it cannot be, nobody is signed in.
const expired = document.querySelector("[data-renew]");
if (expired) {
  renew().then((isRenewed) => {
    if (isRenewed) return location.replace(expired.dataset.renew);
    localStorage.removeItem("hasSession");
    expired.textContent = "You are not signed in any more. Open this page in the health app again.";
  });
}
