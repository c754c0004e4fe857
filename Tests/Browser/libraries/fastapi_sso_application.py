"""A web application with FastAPI-SSO, which sends no nonce: its provider has to be made with a challenge."""

import fastapi
import requests
import uvicorn
from fastapi_sso.sso.base import OpenID
from fastapi_sso.sso.generic import create_provider

from application import CLIENT_ID, ISSUER, ORIGIN, PORT, SECRET

metadata = requests.get(f"{ISSUER}/.well-known/openid-configuration", timeout=20).json()
Provider = create_provider(
    name="countersign",
    default_scope=["openid", "email", "profile"],
    discovery_document={
        name: metadata[name] for name in ("authorization_endpoint", "token_endpoint", "userinfo_endpoint")
    },
    response_convertor=lambda claims, _: OpenID(id=claims["sub"], email=claims["email"]),
)
Provider.uses_pkce = True
provider = Provider(CLIENT_ID, SECRET, f"{ORIGIN}/callback", allow_insecure_http=True)
app = fastapi.FastAPI()


@app.get("/")
async def home():
    async with provider:
        return await provider.get_login_redirect()


@app.get("/callback")
async def callback(request: fastapi.Request):
    async with provider:
        person = await provider.verify_and_process(request)
    return {"sub": person.id, "email": person.email}


uvicorn.run(app, host="127.0.0.1", port=PORT)
