"""A web application with requests-oauth2client, which sends a challenge and a nonce without being told."""

import flask
from requests_oauth2client import AuthorizationRequestSerializer, OAuth2Client

from application import CLIENT_ID, ISSUER, ORIGIN, SECRET, serve

app = flask.Flask(__name__)
app.secret_key = "a key of this application"
# The library takes no plain http unless it is told that this is a trial.
client = OAuth2Client.from_discovery_endpoint(
    issuer=ISSUER, client_id=CLIENT_ID, client_secret=SECRET, redirect_uri=f"{ORIGIN}/callback", testing=True)
requests_on_their_way = AuthorizationRequestSerializer()


@app.get("/")
def home():
    request = client.authorization_request(scope="openid email profile")
    flask.session["request"] = requests_on_their_way.dumps(request)
    return flask.redirect(str(request))


@app.get("/callback")
def callback():
    request = requests_on_their_way.loads(flask.session["request"])
    token = client.authorization_code(request.validate_callback(flask.request.url), validate=True)
    return client.userinfo(token)


serve(app)
