import CeremonyEngine
import HTTPTypes
import Hummingbird
import NIOCore
import Pages
import Store

/// Pages that belong to no sign-in, and the files that all pages refer to.
struct PageRoutes: Sendable {
    let pages: PageRenderer

    func mount(on router: ServerRouter) {
        // The address of this page holds a one-time token: it is not read here, and no log has it.
        router.endpoint("/open", [.get: { _, _ in .page(self.pages.html(OpenInAppPage())) }])
        router.endpoint("/admin/setup", [.get: { _, _ in .page(self.pages.html(AdministratorSetUpPage())) }])
        for asset in self.pages.assets.all {
            let body = ByteBuffer(bytes: asset.bytes)
            router.endpoint(
                RouterPath(asset.path),
                [
                    .get: { _, _ in
                        // The name changes with the content, so the content under a name never does.
                        Response(
                            status: .ok,
                            headers: [
                                .contentType: asset.contentType,
                                .cacheControl:
                                    "public, max-age=\(Limits.Fixed.assetLifetime.components.seconds), immutable",
                            ], body: .init(byteBuffer: body))
                    }
                ])
        }
    }
}

extension ServerAssembly {
    /// Mounts what browsers see, and the OpenID provider.
    func mountPages(on router: ServerRouter) {
        let limits = self.configuration.limits
        let pages = PageRenderer(serviceName: self.configuration.serviceName, host: self.configuration.host)
        let answers = PageAnswers(pages: pages)
        let cookies = BrowserCookies(
            isSecure: self.configuration.isSecure, lifetime: limits.browserCookieLifetime, random: self.random)
        router.add(middleware: MissingPageMiddleware(answers: answers))
        PageRoutes(pages: pages).mount(on: router)
        SignInRoutes(
            signIns: self.ceremonies.signIns, provider: self.provider, answers: answers, cookies: cookies,
            channels: self.channels, limits: limits, trace: self.trace, metrics: self.configuration.metrics,
            time: self.time
        ).mount(on: router)
        AuthorizationRoutes(
            provider: self.provider, answers: answers, cookies: cookies, limits: limits, trace: self.trace,
            metrics: self.configuration.metrics
        ).mount(on: router)
        TokenRoutes(provider: self.provider, limits: limits, trace: self.trace).mount(on: router)
    }
}

extension ServerAssembly.Configuration {
    /// What people should see in their address bar.
    fileprivate var host: String {
        self.issuer.firstRange(of: "://").map { String(self.issuer[$0.upperBound...]) } ?? self.issuer
    }
}
