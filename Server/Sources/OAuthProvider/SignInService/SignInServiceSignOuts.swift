import JOSE
import OAuth
import Store
import _Primitives

/// What to do with a browser that comes back from a provider at which it was signed out.
public enum SignInServiceReturn: Sendable {
    /// It goes on where its client has registered, or is told what is wrong.
    case answered(SignInServiceAnswer)
    /// Its client has registered no address: a page says that it is done, with where people find the service.
    case page(clientName: String, home: String?)
}

/// How people who have signed out are signed out at the provider that they had come from, too (OpenID Connect RP-Initiated
/// Logout 1.0).
extension SignInService {
    /// The provider by which the person of a session has signed in, where its operator has people signed out there as well;
    /// `nil` for none. Cost: one query where they came from a provider.
    func providerToSignOut(of session: SignInServiceSession) async throws -> UpstreamProvider? {
        let method = session.standing.authentication.method
        guard method.hasBytes(atStart: UpstreamProvider.methodPrefix),
            let upstream = try await self.upstream.store.upstreamProvider(Self.type(ofMethod: method)),
            upstream.signsOut
        else { return nil }
        return upstream
    }

    /// An answer that sends a browser to a provider before it goes where its client has registered. It is signed out here
    /// already: where the provider says of no address, it goes on at once, and the log tells the operator.
    func sent(
        _ done: SignInServiceAnswer, to upstream: UpstreamProvider, from client: ClientRecord
    ) async -> SignInServiceAnswer {
        var answer = done
        do {
            let address = try await self.upstream.signOutAddress(of: upstream, state: self.signOutState(of: client))
            (answer.status, answer.location) = (302, address)
        } catch {
            let reason = (error as? UpstreamRefusal)?.reason ?? "it is not called any more"
            answer.refusal = ProviderRefusal(
                OAuthError(
                    OAuthError.Code(rawValue: UpstreamRefusal.Code.failed.rawValue),
                    "Nobody is signed out at the provider \(upstream.name):", detail: reason),
                client: client.id, setting: "--sign-out")
        }
        return answer
    }

    /// Takes a browser that comes back from a provider (`GET /v0/sign_in/logingov_logout_proxy`): its `state` says of which
    /// client it is, and the address is that client's own.
    ///
    /// Cost: one query, one hash.
    public func returned(_ request: SignInServiceRequest) async throws -> SignInServiceReturn {
        guard let id = request.parameters["state"].flatMap(self.client(ofSignOutState:)),
            let (client, _) = try await self.client(id)
        else {
            return .answered(
                try await self.answer(request) { _ in
                    throw SignInServiceError.malformed(
                        "The state is not valid.", "missing, none of ours, or its client is gone")
                })
        }
        guard let address = client.postLogoutRedirectURIs.first else {
            return .page(clientName: client.name, home: client.clientURI)
        }
        return .answered(SignInServiceAnswer(status: 302, location: address))
    }

    private static let signOutStateKind = "state of a sign-out at another provider"

    /// Says which client a browser is of that is sent to a provider: another one each time, and made by nobody else. It
    /// opens nothing, and leads nowhere but where a sign-out of that client does.
    private func signOutState(of client: ClientRecord) -> String {
        let value = "\(Base64URL.encode(Array(client.id.utf8))).\(self.provider.random.token(byteCount: 16))"
        return "\(value).\(self.signOutCode(of: value))"
    }

    private func client(ofSignOutState state: String) -> String? {
        let parts = state.splitBytes(at: ".").map(String.init)
        guard parts.count == 3 else { return nil }
        let expected = self.signOutCode(of: "\(parts[0]).\(parts[1])")
        guard constantTimeEqual(Array(parts[2].utf8), Array(expected.utf8)), let id = Base64URL.decode(parts[0]) else {
            return nil
        }
        return String(validating: id, as: UTF8.self)
    }

    private func signOutCode(of value: String) -> String {
        self.provider.keys.pairwise(Self.signOutStateKind, client: "", of: value)
    }
}
