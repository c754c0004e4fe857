import Ceremony
import CeremonyEngine
import Endpoints
import HTTPTypes
import Hummingbird
import NIOCore
import Pages
import Settings

/// Pages that belong to no sign-in, and the files that all pages refer to.
struct PageRoutes: Sendable {
    let answers: PageAnswers

    /// The endpoints of the pages.
    var endpoints: [Endpoint] {
        [
            // The address of this page holds a one-time token. The route does not read the token, and no log has the
            // token.
            Endpoint(
                method: .get, path: OutOfBandPayload.linkPath, id: "open",
                summary: "Where links of phones lead without the app.", effect: .none,
                answers: [.page], get: .reads
            ) { _, _ in .page(self.answers.pages.html(OpenInAppPage())) },
            Endpoint(
                method: .get, path: "/admin/setup", id: "setUp", summary: "Where the first administrator begins.",
                effect: .none,
                answers: [.page], get: .reads
            ) { _, _ in .page(self.answers.pages.html(AdministratorSetUpPage())) },
        ]
    }

    /// The files, which no document describes.
    var files: [ServerRouter.Route] {
        self.answers.renderers.files.map { asset in
            let body = ByteBuffer(bytes: asset.bytes)
            return ServerRouter.Route(method: .get, path: asset.path, get: .reads) { _, _ in
                // The name changes with the content, so the content under a name never changes.
                Response(
                    status: .ok,
                    headers: [
                        .contentType: asset.contentType,
                        .cacheControl: "public, max-age=\(Limits.Fixed.assetLifetime.components.seconds), immutable",
                    ], body: .init(byteBuffer: body))
            }
        }
    }
}
