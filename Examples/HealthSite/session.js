// What a page's script does for a session of the app sign-in service. It sees no token: who somebody is, the server alone asks.
"use strict";
const { service, site, cookies } = document.currentScript.dataset;
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

// Has the service set cookies. Its answer is none of ours to read: what came of it the info cookie says.
async function setCookies(path, body) {
  const before = times();
  const request = { method: "POST", mode: "no-cors", credentials: "include", body };
  await fetch(`${service}/v0/sign_in/${path}`, request).catch(() => {});
  const after = times();
  return after !== null && (before === null || after.access > before.access);
}

// The refresh cookie is for one address of the service's, and the browser sends it there by itself.
async function renew() {
  const now = times();
  return now !== null && now.session > Date.now() && setCookies("refresh");
}

const letters = (bytes) =>
  btoa(String.fromCharCode(...new Uint8Array(bytes))).replaceAll("+", "-").replaceAll("/", "_").replaceAll("=", "");
const random = () => letters(crypto.getRandomValues(new Uint8Array(32)));

// Begins a sign-in in a browser that no app has opened (RFC 7636): what proves that it was begun here stays here.
async function beginSignIn() {
  const begun = { verifier: random(), state: random() };
  sessionStorage.setItem("sign-in", JSON.stringify(begun));
  const digest = await crypto.subtle.digest("SHA-256", new TextEncoder().encode(begun.verifier));
  location.assign(`${service}/sign-in?` + new URLSearchParams({
    application: site, oauth: "true", state: begun.state,
    code_challenge: letters(digest), code_challenge_method: "S256",
  }));
}

// Ends it: nobody is signed in by an answer to another sign-in, or of another service (RFC 9207).
async function endSignIn() {
  const answer = new URLSearchParams(location.search);
  const begun = JSON.parse(sessionStorage.getItem("sign-in") ?? "null");
  sessionStorage.removeItem("sign-in");
  history.replaceState(null, "", location.pathname);
  if (!begun || answer.get("state") !== begun.state || answer.get("iss") !== service || !answer.has("code")) return false;
  return setCookies("token", new URLSearchParams({
    grant_type: "authorization_code", code: answer.get("code"), code_verifier: begun.verifier, client_id: site,
  }));
}

// Goes on to a page once there are new cookies; says so where there are none.
async function goOn(place, hasCookies, otherwise) {
  if (await hasCookies) {
    localStorage.setItem("hasSession", "true");
    return location.replace(place.dataset.next);
  }
  localStorage.removeItem("hasSession");
  place.textContent = otherwise;
  place.dataset.failed = "";
}

// The app has told this page of a session, or an earlier page has. That is for what is shown first, and for nothing else:
// anybody can write it.
const hint = document.querySelector("[data-hint]");
if (hint) hint.textContent = localStorage.getItem("hasSession") === "true" ? "Welcome back." : "Sign in to see your records.";

document.querySelector("[data-sign-in]")?.addEventListener("click", beginSignIn);
const signedIn = document.querySelector("[data-signed-in]");
if (signedIn) goOn(signedIn, endSignIn(), "You are not signed in. Go back and begin again.");
// The page was answered by "expired": once it is renewed it is asked for again.
const expired = document.querySelector("[data-renew]");
if (expired) goOn(expired, renew(), "You are not signed in any more.");
