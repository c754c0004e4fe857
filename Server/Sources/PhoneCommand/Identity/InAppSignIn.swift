import ArgumentParser
import Countersign
import Foundation
import _Primitives

/// The service that an app is, for `countersign-phone authenticate`, and the parameters of its back end for the code.
struct InAppOptions: ParsableArguments {
    @Option(help: "The service that the app is, by its client_id: a personalised identity signs the app in.")
    var service: String?

    @Option(help: "With --service: one of its redirect addresses, to the letter.")
    var redirectURI: String?

    @Option(help: "With --service: the challenge (S256) of the verifier that its back end has.")
    var codeChallenge: String?

    @Option(help: "With --service: what is asked for.")
    var scope = "openid"

    @Option(help: "With --service: what comes back with the code.")
    var state: String?

    @Option(help: "With --service: what comes back in the ID token.")
    var nonce: String?

    func validate() throws {
        guard self.service == nil || (self.redirectURI != nil && self.codeChallenge != nil) else {
            throw ValidationError(
                "--service needs --redirect-uri and --code-challenge, which its back end gives the app.")
        }
    }

    /// Returns the app's request to a server; `nil` if the app is no service.
    func request(at server: String) -> InAppAuthenticationRequest? {
        guard let service, let redirectURI, let codeChallenge else { return nil }
        return InAppAuthenticationRequest(
            idmIdentifier: server, clientID: service, redirectURI: redirectURI, scope: self.scope, state: self.state,
            nonce: self.nonce, codeChallenge: codeChallenge)
    }
}

/// Authenticates the person of an app that is itself a service, without a code to scan.
struct InAppSignIn {
    let phone: IdentityPhone
    let person: IdentityHolder

    /// Signs the app in, and reports the code for its back end. Throws ``Refusal`` and `CountersignError`.
    func run(_ options: InAppOptions) async throws {
        let (sdk, identity) = try await self.phone.identity(self.person)
        guard let request = options.request(at: identity.idmIdentifier) else { throw Refusal.usage("Say --service.") }
        let data = try await sdk.authenticator.fetchInAppAuthenticationInitializationData(request)
        var authentication = IdentityAuthentication(sdk, on: self.phone.device, answeredBy: self.person)
        guard case .serviceLogin(let login) = try await authentication.run(data) else {
            throw Refusal.failed("wrong-process", "The server ended in something else than was begun.")
        }
        let code = try await sdk.authenticator.fetchAuthorizationCode(login)
        var members: JSONObject = [
            "event": .string("finished"), "outcome": .outcome(.authenticated),
            "service": .string(authentication.service), "issuer": .string(code.issuer), "code": .string(code.code),
        ]
        members.set("state", code.state)
        self.phone.report.say(members) { terminal in
            terminal.success(
                "Authenticated to \(authentication.service). Its back end redeems this code, once and soon:")
            terminal.print(code.code)
        }
    }
}
