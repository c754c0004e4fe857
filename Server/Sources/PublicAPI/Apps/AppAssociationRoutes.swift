import Ceremony
import CeremonyEngine
import Endpoints
import HTTPTypes
import Hummingbird
import NIOCore
import Settings
import _Primitives

/// The association files, by which the makers of phones let the operator's apps open this server's links (Apple:
/// Supporting associated domains; Google: Digital Asset Links).
///
/// The files stand at the root of the host. For a server below a path, a proxy passes the files' addresses on.
struct AppAssociationRoutes: Sendable {
    let apps: [AppEntry]
    let issuer: String

    /// The endpoints of both files.
    var endpoints: [Endpoint] {
        [
            Self.endpoint(
                "apple-app-site-association", "appleAssociation", "The apps for Apple's systems that open links.",
                handler: self.apple),
            Self.endpoint(
                "assetlinks.json", "androidAssociation", "The apps for Android that open links.",
                handler: self.android),
        ]
    }

    private static func endpoint(
        _ file: String, _ id: String, _ summary: String, handler: @escaping ServerRouter.Handler
    ) -> Endpoint {
        Endpoint(
            method: .get, path: IssuerPath.wellKnown + file, id: id, summary: summary, effect: .none,
            answers: [.init(status: 200, meaning: "The file.", type: "application/json")],
            refusing: [(404, "No app of the system has an entry (--apps).")], get: .reads, handler: handler)
    }

    @Sendable private func apple(_ request: Request, _ context: ServerContext) async throws -> Response {
        let names = self.apps.compactMap(\.appleName)
        let link = IssuerPath(of: self.issuer).text + OutOfBandPayload.linkPath
        return try Self.answer(
            .object([
                "applinks": .object([
                    "details": .array([
                        .object([
                            "appIDs": .array(names.map(JSON.string)),
                            "components": .array([.object(["/": .string(link)])]),
                        ])
                    ])
                ])
            ]), isThere: !names.isEmpty)
    }

    @Sendable private func android(_ request: Request, _ context: ServerContext) async throws -> Response {
        let apps = self.apps.compactMap(\.android)
        return try Self.answer(
            .array(
                apps.map { app in
                    .object([
                        "relation": .array([.string("delegate_permission/common.handle_all_urls")]),
                        "target": .object([
                            "namespace": .string("android_app"), "package_name": .string(app.package),
                            "sha256_cert_fingerprints": .array(app.fingerprints.map(JSON.string)),
                        ]),
                    ])
                }), isThere: !apps.isEmpty)
    }

    private static func answer(_ document: JSON, isThere: Bool) throws -> Response {
        guard isThere else { throw Problem(.notFound, Problem.Name.notFound, "No app of this system has an entry.") }
        return Response(
            status: .ok,
            headers: [
                .contentType: "application/json",
                .cacheControl: "public, max-age=\(Limits.Fixed.facetListLifetime.components.seconds)",
            ],
            body: .init(byteBuffer: ByteBuffer(bytes: document.serialized)))
    }
}
