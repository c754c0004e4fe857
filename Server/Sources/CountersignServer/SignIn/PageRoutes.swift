import Ceremony
import CeremonyEngine
import HTTPTypes
import Hummingbird
import NIOCore
import Pages
import Settings

/// Pages that belong to no sign-in, and the files that all pages refer to.
struct PageRoutes: Sendable {
    let pages: PageRenderer

    func mount(on router: ServerRouter) {
        // The address of this page holds a one-time token. The route does not read the token, and no log has the token.
        router.endpoint(
            RouterPath(OutOfBandPayload.linkPath), get: .reads,
            [.get: { _, _ in .page(self.pages.html(OpenInAppPage())) }])
        router.endpoint(
            "/admin/setup", get: .reads, [.get: { _, _ in .page(self.pages.html(AdministratorSetUpPage())) }])
        for asset in self.pages.assets.all {
            let body = ByteBuffer(bytes: asset.bytes)
            router.endpoint(
                RouterPath(asset.path), get: .reads,
                [
                    .get: { _, _ in
                        // The name changes with the content, so the content under a name never changes.
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
