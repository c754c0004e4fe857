import Ceremony
import Foundation
import Records
import UAF
import _Primitives

/// Codes of logins with personalised identities at services, for the pages that show them.
struct LoginCodes: CeremonyPart {
    let environment: CeremonyEnvironment
    let store: any ServiceStore
    let keys: ManagerKeys

    /// Returns `true` if people sign in to a client with personalised identities.
    ///
    /// Throws `CeremonyError` `forbidden` if the service accepts no logins now, or no logins from pages of the origin.
    func isService(_ client: String, origin: String?) async throws -> Bool {
        guard let profile = try await self.store.serviceProfile(client) else { return false }
        let host = origin.flatMap { URL(string: $0)?.host() }
        switch IdentitySession.open(
            .login(
                isServiceActive: profile.isActive,
                isOriginAllowed: profile.loginDomains.isEmpty || host.map { profile.takes(host: $0) } ?? false),
            at: self.time.now(), limits: self.limits)
        {
        case .session, .pretended: return true
        case .refused(let refusal):
            throw CeremonyError(
                .forbidden,
                refusal == .serviceInactive ? "the service is not active" : "no login domain of the service")
        }
    }

    /// Returns a code for a QR code, another code in a link, and the records of both.
    func codes(of session: String, expiresAt: Timestamp) throws -> (
        tokens: [DispatchTokenRecord], qrContent: String, link: String
    ) {
        let now = self.time.now()
        var tokens: [DispatchTokenRecord] = []
        func code(_ channel: DispatchChannel) throws -> String {
            let secret = SecretBytes(self.random.bytes(ProcessCode.secretBytes))
            let digest = ProcessCode.digest(ofClaim: ProcessCode.claim(of: secret))
            tokens.append(DispatchTokenRecord(digest: digest, channel: channel, expiresAt: expiresAt))
            return ProcessCode.text(
                signed: try self.keys.sign(
                    .authentication, id: session, claimDigest: digest, expiresAt: expiresAt, at: now), secret: secret)
        }
        let (scanned, opened) = (try code(.qrCode), try code(.link))
        return (tokens, scanned, ProcessCode.link(with: opened, at: self.configuration.issuer))
    }
}
