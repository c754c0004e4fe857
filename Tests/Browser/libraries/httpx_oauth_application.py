"""A web application with the OpenID client of httpx-oauth, on which FastAPI Users stands. It makes no nonce of its own."""

import secrets

import fastapi
import uvicorn
from fastapi.responses import RedirectResponse
from httpx_oauth.clients.openid import OpenID

from application import CLIENT_ID, ISSUER, ORIGIN, PORT, SECRET

client = OpenID(CLIENT_ID, SECRET, f"{ISSUER}/.well-known/openid-configuration")
app = fastapi.FastAPI()
# One browser at a time uses this application.
state, nonce = secrets.token_urlsafe(), secrets.token_urlsafe()


@app.get("/")
async def home():
    return RedirectResponse(await client.get_authorization_url(
        f"{ORIGIN}/callback", state=state, scope=["openid", "email", "profile"], extras_params={"nonce": nonce}))


@app.get("/callback")
async def callback(code: str, request: fastapi.Request):
    if request.query_params.get("state") != state:
        return {"error": "state"}
    token = await client.get_access_token(code, f"{ORIGIN}/callback")
    subject, address = await client.get_id_email(token["access_token"])
    return {"sub": subject, "email": address}


uvicorn.run(app, host="127.0.0.1", port=PORT)
