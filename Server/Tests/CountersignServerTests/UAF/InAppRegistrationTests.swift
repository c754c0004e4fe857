import Accounts
import CeremonyEngine
import Countersign
import CountersignServer
import CountersignTestKit
import Foundation
import HTTPTypes
import Hummingbird
import HummingbirdTesting
import NIOCore
import Records
import SQLStore
import Testing
import UAF
import UAFClient
import _Primitives

@Suite("Operations parity 10, 13, 72: a further authenticator in the app, and the facets that may have one")
struct InAppRegistrationTests {
    @Test("Without the token of an authentication nobody registers anything, here or there")
    func needsAuthorization() async throws {
        let server = try await ServerFixture()
        try await server.withPublicClient { client in
            let phone = try await server.enrolledPhone(client)
            let registration = phone.client.operations.registration.username("alice")
                .authenticatorSelector(phone.person).fingerprintUserVerifier(phone.person)
            await #expect(throws: OperationError.self) { _ = try await registration.execute() }
            let account = try await server.assembly.directory.account(username: "alice")
            #expect(try await server.database.credentials(accountID: account.id).count == 1)
            let fingerprint = await phone.client.localData.authenticators.first { $0.kind == .fingerprint }
            #expect(fingerprint?.registration.isRegistered(username: "alice") == false)
            for authorization in ["", "Bearer ", "Bearer x", "Basic x"] {
                let answer = try await client.execute(
                    uri: "/uaf/1.1/request/registration", method: .post,
                    headers: [.authorization: authorization, .contentType: "application/fido+uaf"],
                    body: ByteBuffer(bytes: GetUAFRequest(operation: .registration).serialized))
                #expect(answer.status == .unauthorized, "\(authorization)")
            }
        }
    }

    @Test("With it the finger is registered for the same account, and authenticates")
    func registersAFinger() async throws {
        let server = try await ServerFixture()
        try await server.withPublicClient { client in
            let phone = try await server.enrolledPhone(client)
            try await phone.addFinger()
            let account = try await server.assembly.directory.account(username: "alice")
            #expect(try await server.database.credentials(accountID: account.id).count == 2)
            #expect(try await server.database.devices(accountID: account.id).count == 1, "one phone is one device")
            #expect(await phone.client.localData.accounts.map(\.username) == ["alice"])
            phone.sensor.feel(.match)
            phone.person.script.kind = .fingerprint
            let finger =
                try await phone.client.operations.authentication.username("alice")
                .authenticatorSelector(phone.person).fingerprintUserVerifier(phone.person).execute()
            #expect(finger.account.username == "alice")
        }
    }

    @Test(
        "Decisions 131, 132: a phone with keys in a chip enrols, adds a finger and signs by the default policies",
        arguments: [AuthenticatorModel.KeyStore.tpm, .secureEnclave])
    func keysInAChip(keyStore: AuthenticatorModel.KeyStore) async throws {
        let server = try await ServerFixture()
        try await server.withPublicClient { client in
            let sensor = ScriptedSensor()
            let keys = VerifyingKeys(keyStore: keyStore, fingerprintSensor: sensor)
            let phone = try await server.enrolledPhone(client, sensor: sensor, keys: keys)
            try await phone.addFinger()
            let account = try await server.assembly.directory.account(username: "alice")
            let models = [.pin, .fingerprint].map { AuthenticatorModel(factor: $0, keyStore: keyStore).aaid.text }
            let credentials = try await server.database.credentials(accountID: account.id)
            #expect(credentials.map(\.aaid).sorted() == models)
            sensor.feel(.match)
            phone.person.script.kind = .fingerprint
            let finger = try await phone.authenticate(username: "alice")
            #expect(finger.account.username == "alice")
            let used = try await server.database.credentials(accountID: account.id)
            #expect(used.allSatisfy { $0.lastUsedAt != nil })
        }
    }

    @Test("An app that is not listed learns of it at its start, with its own facet and the server's")
    func checksServer() async throws {
        let server = try await ServerFixture()
        try await server.withPublicClient { client in
            for (facet, finding) in [
                ("ios:bundle-id:com.example.bank", ServerCheck.Finding.facetNotListed),
                ("linux:program:countersign-phone", .trusted),
            ] {
                var configuration = ClientConfiguration(baseURL: try #require(URL(string: "http://localhost:8080")))
                configuration.facetID = facet
                let phone = try await VirtualPhone(
                    configuration: configuration, transport: RouterTransport(client: client), clock: server.clock)
                let check = await phone.client.checkServer()
                #expect(check.finding == finding && check.facetID == facet)
                #expect(check.trustedFacets == ["linux:program:countersign-phone"])
            }
        }
    }

    @Test("The facets are listed as the standard has them (FIDO AppID and Facets 1.1 §3.1.3)")
    func listsFacets() async throws {
        let server = try await ServerFixture()
        try await server.withPublicClient { client in
            let answer = try await client.send(.get, "/uaf/1.1/facets")
            #expect(answer.response.headers[.contentType] == "application/fido.trusted-apps+json")
            #expect(
                answer.object == [
                    "trustedFacets": .array([
                        .object([
                            "version": .object(["major": .integer(1), "minor": .integer(1)]),
                            "ids": .array([.string("linux:program:countersign-phone")]),
                        ])
                    ])
                ])
        }
    }
}
