import JOSE
import OAuth
import Records
import _Primitives

/// The next step for a browser that comes back from a provider at which it was signed out.
public enum SignInServiceReturn: Sendable {
    /// The browser goes to its client's registered address, or gets an error.
    case answered(SignInServiceAnswer)
    /// The client has registered no address. A page confirms the sign-out, with the address of the service for people.
    case page(clientName: String, home: String?)
}

/// Signs people out at their provider as well (OpenID Connect RP-Initiated Logout 1.0).
extension SignInService {
    /// Returns the provider by which the person of a session has signed in, if its operator wants people signed out at
    /// the provider as well; `nil` for none. Cost: one query if the person came from a provider.
    func providerToSignOut(of session: SignInServiceSession) async throws -> UpstreamProvider? {
        let method = session.standing.authentication.method
        guard method.hasBytes(atStart: UpstreamProvider.methodPrefix),
            let upstream = try await self.upstream.store.upstreamProvider(Self.type(ofMethod: method)),
            upstream.signsOut
        else { return nil }
        return upstream
    }

    /// Returns an answer that sends a browser to a provider before the client's registered address. The browser is
    /// already signed out here. If the provider names no sign-out address, the browser goes on at once, and the log
    /// tells the operator.
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

    /// Answers a browser that comes back from a provider (`GET /v0/sign_in/logingov_logout_proxy`). The browser's
    /// `state` names the client, and the browser goes to the client's own address.
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

    /// Returns a text that names the client of a browser on its way to a provider: different each time, and made only
    /// by this server. The text gives no access, and leads only to the address of a sign-out of the client.
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
        self.provider.keys.signing.pairwise(Self.signOutStateKind, client: "", of: value)
    }
}
