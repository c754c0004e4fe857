"""A web application with mozilla-django-oidc, which reads no discovery document."""

from application import CLIENT_ID, ISSUER, SECRET, serve_django


def patterns():
    from django.http import JsonResponse
    from django.shortcuts import redirect
    from django.urls import include, path

    def home(request):
        if not request.user.is_authenticated:
            return redirect("oidc_authentication_init")
        return JsonResponse({"email": request.user.email})

    return [path("", home), path("oidc/", include("mozilla_django_oidc.urls"))]


serve_django(
    ["mozilla_django_oidc"], patterns,
    AUTHENTICATION_BACKENDS=["mozilla_django_oidc.auth.OIDCAuthenticationBackend"],
    OIDC_OP_AUTHORIZATION_ENDPOINT=f"{ISSUER}/oauth2/authorize",
    OIDC_OP_JWKS_ENDPOINT=f"{ISSUER}/oauth2/jwks",
    OIDC_OP_TOKEN_ENDPOINT=f"{ISSUER}/oauth2/token",
    OIDC_OP_USER_ENDPOINT=f"{ISSUER}/oauth2/userinfo",
    OIDC_RP_CLIENT_ID=CLIENT_ID,
    OIDC_RP_CLIENT_SECRET=SECRET,
    OIDC_RP_SIGN_ALGO="RS256",
)
