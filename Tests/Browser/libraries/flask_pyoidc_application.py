"""A web application with Flask-pyoidc, which stands on pyoidc (`oic`)."""

import flask
from flask_pyoidc import OIDCAuthentication
from flask_pyoidc.provider_configuration import ClientMetadata, ProviderConfiguration
from flask_pyoidc.user_session import UserSession

from application import CLIENT_ID, ISSUER, ORIGIN, SECRET, serve

app = flask.Flask(__name__)
app.config.update(SECRET_KEY="a key of this application", OIDC_REDIRECT_URI=f"{ORIGIN}/callback")
provider = OIDCAuthentication({
    "countersign": ProviderConfiguration(
        issuer=ISSUER,
        client_metadata=ClientMetadata(CLIENT_ID, SECRET),
        auth_request_params={"scope": ["openid", "email", "profile"]},
    )
}, app)


@app.get("/")
@provider.oidc_auth("countersign")
def home():
    return dict(UserSession(flask.session).userinfo)


serve(app)
