import Endpoints
import OAuthProvider
import Pages
import Records
import Texts
import _Primitives

/// The sign-in by another provider, with its pages.
extension UpstreamSignInMethod: SignInWay {
    static var explanation: String? { "for another provider" }
    /// A browser comes back from another provider with the confirmation of a change, too.
    static var section: SignInSection { .decisions }

    init(_ foundation: SignInFoundation) {
        self.init(
            store: foundation.store, finished: foundation.finished, time: foundation.time, random: foundation.random)
    }

    func choices(for words: [String]) async throws -> [SignInChoice] {
        try await self.offered(to: words).map { provider in
            SignInChoice(
                word: UpstreamProvider.method(of: provider.name),
                entry: .init(
                    .byProvider(title: provider.title), name: provider.name,
                    path: "/sign-in/provider/\(provider.name)"))
        }
    }

    func endpoints(_ parts: SignInParts) -> [Endpoint] {
        UpstreamRoutes(
            signIns: parts.upstream, confirmed: parts.confirmed, answers: parts.answers, cookies: parts.cookies,
            limits: parts.limits, trace: parts.trace
        ).endpoints
    }
}
