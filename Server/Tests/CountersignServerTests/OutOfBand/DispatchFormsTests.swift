import Ceremony
import CountersignServer
import CountersignTestKit
import Foundation
import HTTPTypes
import Hummingbird
import HummingbirdTesting
import NIOCore
import Testing
import _Primitives

@testable import PhoneCommand

@Suite("Operations parity 80: the forms in which a dispatch travels")
struct DispatchFormsTests {
    /// A dispatch in one of its forms, and what a phone makes of it.
    private func dispatch(_ form: String, _ party: RelyingParty, _ client: any TestClientProtocol) async throws -> (
        answer: JSONObject, payload: OutOfBandPayload
    ) {
        let (response, answer) = try await client.send(
            .post, "/token/dispatch/authentication",
            ["dispatcher": .string(form), "getUafRequest": .object(["op": .string("Auth")])],
            headers: [.authorization: party.authorization])
        #expect(response.status == .ok)
        let information = try answer.requiredObject("dispatcherInformation")
        #expect(try information.requiredString("name") == form)
        let given = try information.requiredString("response")
        guard form != "link" else { return (answer, try OutOfBandPayload(link: given)) }
        let start = "data:image/png;base64,"
        #expect(given.hasPrefix(start))
        let picture = try #require(Data(base64Encoded: String(given.dropFirst(start.count))))
        // The terminal phone's own camera.
        let text = try Picture(png: Array(picture)).qrCodeText()
        #expect(text.hasPrefix("http") == (form == "link-png-qr-code"))
        return (answer, try OutOfBandPayload(scanned: text))
    }

    @Test("A picture of a link, a picture of the payload alone, and a link give the same payload but for the token")
    func forms() async throws {
        let server = try await ServerFixture()
        try await server.withPublicClient { client in
            let party = try await server.relyingParty()
            let phone = try await server.enrolledPhone(client)
            var payloads: [OutOfBandPayload] = []
            for form in ["link-png-qr-code", "png-qr-code", "link"] {
                let (answer, payload) = try await self.dispatch(form, party, client)
                #expect(payload.redeemData.token == (try answer.requiredString("token")))
                // The forms that have a link carry the very same payload in it.
                if let link = try answer.string("link") { #expect(try OutOfBandPayload(link: link) == payload) }
                #expect((try answer.string("link") == nil) == (form == "png-qr-code"))
                payloads.append(payload)
            }
            let first = try #require(payloads.first)
            for payload in payloads {
                #expect(
                    payload
                        == (try OutOfBandPayload(
                            redeemData: .init(
                                token: payload.redeemData.token, redeemURL: first.redeemData.redeemURL),
                            data: first.data)))
            }
            #expect(Set(payloads.map(\.redeemData.token)).count == 3)
            // And each is taken.
            for payload in payloads { _ = try await phone.authenticate(payload) }
        }
    }
}
