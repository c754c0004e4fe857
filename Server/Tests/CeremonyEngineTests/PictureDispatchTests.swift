import Accounts
import CeremonyEngine
import Crypto
import Foundation
import Records
import Settings
import Testing
import UAF
import _Primitives

@Suite("uaf-sections §14: a relying party has a picture confirmed")
struct PictureDispatchTests {
    private static let display = DisplayPNGCharacteristics(width: 8, height: 4, bitDepth: 1, colorType: 0)

    // MARK: Pictures

    private static func big(_ value: UInt32) -> [UInt8] { withUnsafeBytes(of: value.bigEndian) { Array($0) } }

    private static func chunk(_ name: String, _ content: [UInt8]) -> [UInt8] {
        let covered = Array(name.utf8) + content
        let checksum = ~covered.reduce(UInt32.max) { crc, byte in
            (0..<8).reduce(crc ^ UInt32(byte)) { value, _ in value >> 1 ^ (value & 1 == 0 ? 0 : 0xEDB8_8320) }
        }
        return Self.big(UInt32(content.count)) + covered + Self.big(checksum)
    }

    /// A whole PNG file, all black, its data stored and not packed.
    private static func picture(_ kind: DisplayPNGCharacteristics = display, more: [UInt8] = []) -> [UInt8] {
        let line = (Int(kind.width) * Int(kind.bitDepth) * (kind.colorType == 2 ? 3 : 1) + 7) / 8 + 1
        let rows = [UInt8](repeating: 0, count: line * Int(kind.height))
        let size = UInt16(truncatingIfNeeded: rows.count)
        let stored: [UInt8] =
            [0x78, 0x01, 0x01, UInt8(size & 255), UInt8(size >> 8), UInt8(~size & 255), UInt8(~size >> 8)] + rows
            // Adler-32 of zeros: the sum is 1, its sums are as many.
            + Self.big(UInt32(rows.count % 65_521) << 16 | 1)
        return [0x89, 0x50, 0x4E, 0x47, 0x0D, 0x0A, 0x1A, 0x0A]
            + Self.chunk(
                "IHDR",
                Self.big(kind.width) + Self.big(kind.height) + [
                    kind.bitDepth, kind.colorType, kind.compression, kind.filter, kind.interlace,
                ]) + more + Self.chunk("IDAT", stored) + Self.chunk("IEND", [])
    }

    private func dispatch(
        _ content: [UInt8], to account: String, on server: TestServer, kind: DisplayPNGCharacteristics? = nil
    ) async throws -> DispatchAnswer {
        let transaction = Transaction(contentType: .imagePNG, content: content, pngCharacteristics: kind)
        return try await server.engine.dispatches.dispatch(
            DispatchRequest(
                dispatcher: "link", operation: .authentication,
                context: [
                    "subject": .string("bank|\(account)"), "transaction": .array([.object(transaction.json)]),
                ]), client: server.bank)
    }

    /// Alice with a phone that shows no pictures, and one that shows them.
    private func scene() async throws -> (server: TestServer, account: String, blind: TestPhone, able: TestPhone) {
        let server = try TestServer()
        let (account, blind) = try await server.enrol()
        let able = try await server.addPhone(to: "alice", name: "Another", displays: [Self.display])
        return (server, account.id, blind, able)
    }

    // MARK: Tests

    @Test("It is offered to the authenticators that show it alone, signed by its hash, and told as what it is")
    func confirmed() async throws {
        let (server, account, _, able) = try await self.scene()
        let content = Self.picture()
        let dispatched = try await self.dispatch(content, to: account, on: server)
        #expect(dispatched.result == .dispatched)
        let shown = Transaction(contentType: .imagePNG, content: content, pngCharacteristics: Self.display)
        #expect(dispatched.transaction == [shown])
        let request = try await server.engine.redemptions.redeem(
            token: try #require(dispatched.token), operation: .authentication)
        let message = try AuthenticationRequest(parsing: (request.uafRequest ?? "").utf8)
        #expect(message.transaction == [shown])
        #expect(message.policy.accepted.joined().compactMap(\.keyIDs).joined().map(\.self) == [able.keyID])
        let answer = try await server.engine.authenticationAnswers.judge(try able.authenticate(request, counter: 2))
        #expect(answer.response.statusCode == .ok)
        let status = try await server.engine.sessions.status(
            sessionID: try #require(dispatched.sessionID), clientID: "bank")
        #expect(status.confirmation?.contentHash == Array(SHA256.hash(data: content)))
        #expect(status.confirmation?.contentType == "image/png")
    }

    @Test("An authenticator that does not show it confirms nothing, and one that shows it no other picture")
    func unseen() async throws {
        let (server, account, blind, able) = try await self.scene()
        for (phone, content) in [(blind, nil), (able, Self.picture() + [0])] {
            let dispatched = try await self.dispatch(Self.picture(), to: account, on: server)
            let request = try await server.engine.redemptions.redeem(
                token: try #require(dispatched.token), operation: .authentication)
            let answer = try await server.engine.authenticationAnswers.judge(
                try phone.authenticate(request, counter: 2, content: content))
            #expect(answer.response.statusCode == .unacceptableContent)
            let status = try await server.engine.sessions.status(
                sessionID: try #require(dispatched.sessionID), clientID: "bank")
            #expect(status.state == .failed && status.confirmation == nil)
        }
    }

    @Test("A text is offered to both, as before")
    func text() async throws {
        let (server, account, blind, able) = try await self.scene()
        let record = try #require(try await server.directory.account(id: account))
        for phone in [blind, able] {
            let dispatched = try await server.dispatch("Pay", to: record)
            let request = try await server.engine.redemptions.redeem(
                token: try #require(dispatched.token), operation: .authentication)
            let answer = try await server.engine.authenticationAnswers.judge(
                try phone.authenticate(request, counter: 2))
            #expect(answer.response.statusCode == .ok)
        }
    }

    private static var refused: [(name: String, content: [UInt8])] {
        let whole = Self.picture()
        func changed(_ change: (inout DisplayPNGCharacteristics) -> Void) -> [UInt8] {
            var kind = Self.display
            change(&kind)
            return Self.picture(kind)
        }
        var flipped = whole
        flipped[45] ^= 1
        return [
            ("truncated", whole.dropLast(3)), ("without an end", whole.dropLast(12)), ("a bit flipped", flipped),
            ("more behind it", whole + [0]), ("no file of this kind", Array("GIF89a".utf8)),
            ("animated", Self.picture(more: Self.chunk("acTL", Self.big(1) + Self.big(0)))),
            ("a critical chunk of its own", Self.picture(more: Self.chunk("ABCD", []))),
            ("interlaced", changed { $0.interlace = 1 }), ("a bit depth that is none", changed { $0.bitDepth = 3 }),
            ("a color type that is none", changed { $0.colorType = 1 }), ("no width", changed { $0.width = 0 }),
            ("too wide", changed { $0.width = UInt32(Limits().picturePixels + 1) }),
            ("too high", changed { $0.height = UInt32(Limits().picturePixels + 1) }),
            (
                "too many bytes",
                Self.picture(more: Self.chunk("teXt", [UInt8](repeating: 65, count: Limits().pictureBytes)))
            ),
        ]
    }

    @Test("What is no whole picture of bounded size is refused, before anybody is looked for", arguments: Self.refused)
    func isRefused(name: String, content: [UInt8]) async throws {
        let server = try TestServer()
        await #expect(throws: CeremonyError(.invalidPicture)) {
            try await self.dispatch(content, to: "nobody", on: server)
        }
    }

    @Test("What is said of a picture has to be so")
    func saidOfIt() async throws {
        let (server, account, _, _) = try await self.scene()
        #expect(
            try await self.dispatch(Self.picture(), to: account, on: server, kind: Self.display).result == .dispatched)
        for change in [\DisplayPNGCharacteristics.width, \.height] {
            var kind = Self.display
            kind[keyPath: change] += 1
            let wrong = kind
            await #expect(throws: CeremonyError(.invalidPicture)) {
                try await self.dispatch(Self.picture(), to: account, on: server, kind: wrong)
            }
        }
    }

    @Test("A picture that no authenticator shows is refused with those that they show")
    func notShown() async throws {
        let (server, account, _, _) = try await self.scene()
        let others: [DisplayPNGCharacteristics] = [
            .init(width: 9, height: 4, bitDepth: 1, colorType: 0),
            .init(width: 8, height: 5, bitDepth: 1, colorType: 0),
            .init(width: 8, height: 4, bitDepth: 8, colorType: 0),
            .init(width: 8, height: 4, bitDepth: 8, colorType: 2),
        ]
        for other in others {
            let error = await #expect(throws: CeremonyError.self) {
                try await self.dispatch(Self.picture(other), to: account, on: server)
            }
            #expect(error?.code == .pictureNotShown && error?.displays == [Self.display])
        }
        let plain = try TestServer()
        let (alone, _) = try await plain.enrol()
        let error = await #expect(throws: CeremonyError.self) {
            try await self.dispatch(Self.picture(), to: alone.id, on: plain)
        }
        #expect(error?.code == .pictureNotShown && error?.displays == [])
    }
}
