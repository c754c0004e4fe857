import Accounts
import Ceremony
import CeremonyEngine
import Countersign
import CountersignServer
import CountersignTestKit
import Foundation
import HTTPTypes
import Hummingbird
import HummingbirdTesting
import JOSE
import OAuthProvider
import Records
import Synchronization
import Testing
import _Primitives

@Suite("Sign-in parity F091: every opaque secret is what the generator gave, 128 bits of it or more")
struct SecretLengthTests {
    /// The system's generator, and all that it was asked for.
    private final class RecordedGenerator: Sendable {
        private let given = Mutex<Set<[UInt8]>>([])

        var source: RandomSource {
            RandomSource { count in
                let bytes = RandomSource.system.bytes(count)
                self.given.withLock { _ = $0.insert(bytes) }
                return bytes
            }
        }

        /// Whether a secret is, whole, what one call of the generator gave.
        func gave(_ bytes: [UInt8]) -> Bool { self.given.withLock { $0.contains(bytes) } }
    }

    @Test func everySecretThatLeavesTheServer() async throws {
        let generator = RecordedGenerator()
        let server = try await ServerFixture(random: generator.source)
        try await server.withPublicClient { client in
            var secrets: [String: String] = [:]
            let phone = try await server.enrolledPhone(client)
            let party = try await server.relyingParty(mayDeregister: true)
            secrets["client secret"] = party.secret
            secrets["rotated secret"] = try await server.assembly.provider.clients.rotateSecret(ofClient: party.id)?
                .secret

            let browser = TestBrowser(client)
            let (request, page) = try await server.signInPage(browser, party)
            secrets["browser's cookie"] = browser.cookies["countersign_browser"]
            let link = try OutOfBandPayload(link: page.attribute("href", of: "same-device-link"))
            secrets["token of a link"] = link.redeemData.token
            let result = try await phone.authenticate(link)
            let continuation = try #require(result.location?.absoluteString)
            secrets["continuation"] = String(try #require(continuation.split(separator: "=").last))
            let completed = try await browser.get(continuation)
            #expect(completed.headers[.location] == "/sign-in/complete?request=\(request)&client=\(party.id)")
            let signedIn = try await browser.get(try #require(completed.headers[.location]))
            secrets["authorization code"] = signedIn.redirectParameters["code"]
            secrets["session's cookie"] = browser.cookies["countersign_session"]

            // Whatever a service dispatches, and however the token travels.
            let service = RelyingParty(id: party.id, secret: secrets["rotated secret"] ?? "")
            let account = try await server.assembly.directory.account(username: "alice").id
            let subject = JSON.string(server.assembly.provider.keys.subject(ofAccount: account, client: party.id)).text
            for (operation, name, context) in [
                ("authentication", "Auth", nil), ("authentication", "Auth", "{\"subject\":\(subject)}"),
                ("deregistration", "Dereg", "{\"subject\":\(subject),\"mode\":\"username\"}"),
            ] {
                for dispatcher in ["png-qr-code", "link", "link-png-qr-code"] {
                    var asked: JSONObject = ["op": .string(name)]
                    asked["context"] = context.map { .string($0) }
                    let dispatched = try await client.send(
                        .post, "/token/dispatch/\(operation)",
                        ["dispatcher": .string(dispatcher), "getUafRequest": .object(asked)],
                        headers: [.authorization: service.authorization])
                    secrets["\(operation) by \(dispatcher), \(context ?? "for anybody")"] =
                        try dispatched.object.requiredString("token")
                }
            }
            let enrolments = server.assembly.ceremonies.enrolments
            let enrolment = try await enrolments.createEnrolmentLink(username: "alice", by: "test")
            secrets["token of an enrolment link"] = try OutOfBandPayload(link: enrolment.link).redeemData.token
            let administrators = server.assembly.administrators
            let secret = try #require(try await administrators.makeLinkIfNone())
            secrets["administrator's link"] = secret
            secrets["administrator's token"] = try await administrators.redeem(secret: secret, source: "here")

            let television = try await server.assembly.provider.clients.register(
                name: "Television", redirectURIs: ["https://tv.example/"],
                settings: ClientSettings(
                    idTokenAlgorithm: .es256, grantTypes: ["urn:ietf:params:oauth:grant-type:device_code"],
                    authenticationMethod: "none"))
            let device = try await DeviceAuthorizations(server.assembly.provider.authorizations).authorize(
                header: nil, body: "scope=openid&client_id=\(television.client.id)", source: "here")
            secrets["device code"] = try #require(device.body).requiredString("device_code")

            #expect(secrets.count == 20)
            for (name, secret) in secrets {
                let bytes = try #require(Base64URL.decode(secret), "\(name) is \(secret)")
                #expect(bytes.count >= 16, "\(name)")
                #expect(generator.gave(bytes), "\(name) is not the generator's alone")
            }
            #expect(Set(secrets.values).count == secrets.count)
        }
    }
}
