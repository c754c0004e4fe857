"""A web application with the Django part of simple-openid-connect."""

from application import CLIENT_ID, ISSUER, SECRET, serve_django


def patterns():
    from django.http import JsonResponse
    from django.shortcuts import redirect
    from django.urls import include, path

    def home(request):
        if not request.user.is_authenticated:
            return redirect("simple_openid_connect:login")
        return JsonResponse({"sub": request.user.openid.sub})

    return [path("", home), path("openid/", include("simple_openid_connect.integrations.django.urls"))]


serve_django(
    ["simple_openid_connect.integrations.django"], patterns,
    MIDDLEWARE=["simple_openid_connect.integrations.django.middleware.TokenVerificationMiddleware"],
    LOGIN_URL="simple_openid_connect:login",
    OPENID_CLIENT_ID=CLIENT_ID,
    OPENID_CLIENT_SECRET=SECRET,
    OPENID_ISSUER=ISSUER,
    OPENID_SCOPE="openid email profile",
)
