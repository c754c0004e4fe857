import Countersign
import CountersignTestKit
import Foundation
import Testing
import UAF
import UAFClient

@Suite("uaf-sections §14: a PNG picture to confirm, through the SDK", .overEachKeyAbility)
struct PictureTests {
    /// A whole PNG file: one grey pixel with alpha.
    static let bytes = Array(
        Data(
            base64Encoded: """
                iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAQAAAC1HAwCAAAAC0lEQVR4nGNgYAAAAAMAAbitOmMAAAAASUVORK5CYII=
                """) ?? Data())
    private static let display = DisplayPNGCharacteristics(width: 1, height: 1, bitDepth: 8, colorType: 4)
    private static let picture = Transaction(contentType: .imagePNG, content: bytes, pngCharacteristics: display)

    private func refusal(_ world: World, _ transaction: [Transaction]) async throws -> OperationError? {
        let payload = try await world.server.authentication(transaction: transaction)
        return await operationError { _ = try await world.phone.authenticate(payload) }
    }

    @Test("It reaches the app byte for byte with its type, and what was shown is signed")
    func shown() async throws {
        let world = try await World(pictureDisplays: [Self.display])
        try await world.enroll("alice", [World.pin])
        _ = try await world.phone.authenticate(try await world.server.authentication(transaction: [Self.picture]))
        let asked = world.phone.person.asked
        #expect(asked.compactMap(\.transaction) == [Data(Self.bytes)])
        #expect(asked.compactMap(\.contentType) == [.imagePNG] && asked.allSatisfy { $0.payment == nil })
        let signed = try #require(await world.server.accepted.last?.assertions.first)
        #expect(signed.mode == .transactionConfirmed && signed.transactionContentHash == Self.picture.contentHash)
        // In the app there is no account selector: the other selector shows it.
        let named = try await world.server.authentication(username: "alice", transaction: [Self.picture])
        world.phone.person.forget()
        _ = try await world.phone.authenticate(named)
        #expect(world.phone.person.asked.filter { $0.transaction != nil }.map(\.question) == [.authenticator])
    }

    @Test("Registrations tell servers which pictures the app shows, and none without it")
    func announced() async throws {
        for displays in [[], [Self.display]] {
            let world = try await World(pictureDisplays: displays)
            try await world.enroll()
            let sent = try #require(
                await world.server.requests.compactMap { try? SendUAFResponse(parsing: $0.body) }.last)
            let assertions = try RegistrationResponse(parsing: sent.uafResponse.utf8).assertions
            #expect(assertions.map(\.pngCharacteristics) == [displays])
        }
    }

    @Test("Without the option, of another size, or damaged it is refused before anybody is asked")
    func refused() async throws {
        let plain = try await World()
        try await plain.enroll()
        #expect(try await self.refusal(plain, [Self.picture]) == .fido(.invalidTransactionContent))
        #expect(await plain.server.clientErrorCodes == [0x0D])
        var wide = Self.display
        wide.width = 2
        let world = try await World(pictureDisplays: [wide])
        try await world.enroll()
        #expect(try await self.refusal(world, [Self.picture]) == .fido(.invalidTransactionContent))
        let able = try await World(pictureDisplays: [Self.display])
        try await able.enroll()
        let damaged = Transaction(
            contentType: .imagePNG, content: Self.bytes.dropLast(), pngCharacteristics: Self.display)
        #expect(try await self.refusal(able, [damaged]) == .fido(.invalidTransactionContent))
        for each in [plain, world, able] { #expect(each.phone.person.asked.isEmpty) }
    }

    @Test("A text beside it comes first, with its type")
    func textFirst() async throws {
        let world = try await World(pictureDisplays: [Self.display])
        try await world.enroll()
        _ = try await world.phone.authenticate(
            try await world.server.authentication(transaction: [text("Pay 5"), Self.picture]))
        #expect(world.phone.person.asked.compactMap(\.contentType) == [.textPlain])
        #expect(world.phone.person.asked.compactMap(\.transaction) == [Data("Pay 5".utf8)])
    }
}
