"""A web application with idpyoidc."""

import flask
from idpyoidc.client.rp_handler import RPHandler

from application import CLIENT_ID, ISSUER, ORIGIN, SECRET, serve

app = flask.Flask(__name__)
parties = RPHandler(base_url=ORIGIN, client_configs={
    "countersign": {
        "client_type": "oidc",
        "issuer": ISSUER,
        "client_id": CLIENT_ID,
        "client_secret": SECRET,
        "redirect_uris": [f"{ORIGIN}/callback"],
        "scope": ["openid", "email", "profile"],
    }
})


@app.get("/")
def home():
    return flask.redirect(parties.begin("countersign"))


@app.get("/callback")
def callback():
    answer = parties.finalize(ISSUER, flask.request.args.to_dict())
    return answer["userinfo"].to_dict() if "userinfo" in answer else {"error": str(answer)}


serve(app)
