"""A web application with Flask-OIDC, which is told its provider and its credentials, and nothing else."""

import flask
from flask_oidc import OpenIDConnect

from application import ISSUER, CLIENT_ID, SECRET, serve

app = flask.Flask(__name__)
app.config.update(
    SECRET_KEY="a key of this application",
    OIDC_CLIENT_SECRETS={"web": {"client_id": CLIENT_ID, "client_secret": SECRET, "issuer": ISSUER}},
    OIDC_SCOPES="openid email profile",
)
provider = OpenIDConnect(app)


@app.get("/")
@provider.require_login
def home():
    return flask.session["oidc_auth_profile"]


serve(app)
