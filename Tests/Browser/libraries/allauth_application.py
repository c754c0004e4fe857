"""A web application with django-allauth, which sends no nonce: it has to be told to send a challenge."""

from application import CLIENT_ID, ISSUER, SECRET, serve_django


def patterns():
    from django.http import JsonResponse
    from django.shortcuts import redirect
    from django.urls import include, path

    def home(request):
        if not request.user.is_authenticated:
            return redirect("openid_connect_login", "countersign")
        return JsonResponse({"email": request.user.email})

    return [path("", home), path("accounts/", include("allauth.urls"))]


serve_django(
    ["allauth", "allauth.account", "allauth.socialaccount", "allauth.socialaccount.providers.openid_connect"], patterns,
    AUTHENTICATION_BACKENDS=["allauth.account.auth_backends.AuthenticationBackend"],
    ACCOUNT_EMAIL_VERIFICATION="none",
    MIDDLEWARE=["allauth.account.middleware.AccountMiddleware"],
    SOCIALACCOUNT_LOGIN_ON_GET=True,
    SOCIALACCOUNT_PROVIDERS={
        "openid_connect": {
            "APPS": [{
                "provider_id": "countersign", "name": "Countersign", "client_id": CLIENT_ID, "secret": SECRET,
                "settings": {"server_url": ISSUER},
            }],
            "OAUTH_PKCE_ENABLED": True,
        }
    },
)
