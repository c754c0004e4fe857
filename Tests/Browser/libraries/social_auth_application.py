"""A web application with social-auth-app-django and the OpenID Connect of social-auth-core."""

from application import CLIENT_ID, ISSUER, SECRET, serve_django


def patterns():
    from django.http import JsonResponse
    from django.shortcuts import redirect
    from django.urls import include, path
    from social_core.actions import do_auth
    from social_django.utils import psa

    def home(request):
        if not request.user.is_authenticated:
            return redirect("/begin")
        return JsonResponse({"email": request.user.email})

    # The library begins by a form of the application's; here an address does.
    @psa("social:complete")
    def begin(request, backend):
        return do_auth(request.backend)

    return [path("", home), path("begin", begin, {"backend": "oidc"}), path("", include("social_django.urls", namespace="social"))]


serve_django(
    ["social_django"], patterns,
    AUTHENTICATION_BACKENDS=["social_core.backends.open_id_connect.OpenIdConnectAuth"],
    SOCIAL_AUTH_OIDC_KEY=CLIENT_ID,
    SOCIAL_AUTH_OIDC_OIDC_ENDPOINT=ISSUER,
    SOCIAL_AUTH_OIDC_SECRET=SECRET,
)
