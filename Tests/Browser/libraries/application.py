"""What the applications of other makers' libraries are told, and how they are served.

Each is a program of its own: three of them are Django, which has one configuration for a process.
"""

import os
import sys
from wsgiref.simple_server import WSGIRequestHandler, make_server

ISSUER = os.environ["ISSUER"]
CLIENT_ID = os.environ["CLIENT_ID"]
SECRET = os.environ["CLIENT_SECRET"]
PORT = int(os.environ["PORT"])
ORIGIN = f"http://127.0.0.1:{PORT}"


def serve(application):
    make_server("127.0.0.1", PORT, application, handler_class=WSGIRequestHandler).serve_forever()


def serve_django(apps, patterns, **settings):
    """Serves a Django that has these applications and addresses, with a database in the present folder."""
    import django
    from django.conf import settings as configuration
    from django.core.management import call_command
    from django.core.wsgi import get_wsgi_application

    configuration.configure(
        ALLOWED_HOSTS=["127.0.0.1"],
        AUTH_USER_MODEL="auth.User",
        DATABASES={"default": {"ENGINE": "django.db.backends.sqlite3", "NAME": "database.sqlite3"}},
        DEBUG=True,
        INSTALLED_APPS=[
            "django.contrib.auth", "django.contrib.contenttypes", "django.contrib.sessions",
            "django.contrib.messages", *apps,
        ],
        LOGIN_REDIRECT_URL="/",
        ROOT_URLCONF="__main__",
        SECRET_KEY="a key of this application",
        SESSION_ENGINE="django.contrib.sessions.backends.signed_cookies",
        TEMPLATES=[{
            "BACKEND": "django.template.backends.django.DjangoTemplates",
            "APP_DIRS": True,
            "OPTIONS": {"context_processors": [
                "django.template.context_processors.request", "django.contrib.auth.context_processors.auth",
                "django.contrib.messages.context_processors.messages",
            ]},
        }],
        MIDDLEWARE=[
            "django.contrib.sessions.middleware.SessionMiddleware", "django.middleware.common.CommonMiddleware",
            "django.contrib.auth.middleware.AuthenticationMiddleware",
            "django.contrib.messages.middleware.MessageMiddleware", *settings.pop("MIDDLEWARE", []),
        ],
        DEFAULT_AUTO_FIELD="django.db.models.BigAutoField",
        **settings,
    )
    django.setup()
    call_command("migrate", verbosity=0)
    sys.modules["__main__"].urlpatterns = patterns()
    serve(get_wsgi_application())
