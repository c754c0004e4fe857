import Accounts
import Ceremony
import CeremonyEngine
import Countersign
import CountersignServer
import CountersignTestKit
import Crypto
import Foundation
import Records
import SQLStore
import Testing
import UAFClient
import _Primitives

/// What can be copied of a person's identity: of a server and a phone that have made an activation, a wrong try and a
/// sign-in, and of another activation that waits.
struct Haul: Sendable {
    static let right = "70413962508417"
    static let wrong = "25803691470258"

    /// What the keys of PINs are bound to: of the phone's, and of the code that waits.
    let phone: PinScheme.Context
    let waiting: PinScheme.Context
    /// The code of the activation that waits, whose PIN is the right one, and what the server answers to who has it.
    let code: [[UInt8]]
    /// Every value of the database as it lies there.
    let database: [[UInt8]]
    /// The keys of the PINs, which the server's own key opens.
    let openedKeys: [[UInt8]]
    /// Everything that the phone has ever kept, opened.
    let kept: [[UInt8]]
    /// What it has kept, and all that it ever drew by chance.
    let storage: [[UInt8]]
    /// What went between phone and server, without the transport's encryption.
    let traffic: [[UInt8]]
    /// The trail, traces of both sides, and what was logged.
    let records: [[UInt8]]
    /// What was agreed to, with its evidence, opened.
    let agreements: [[UInt8]]
    /// The random half of the phone's key.
    let phoneHalf: [UInt8]

    private static let taken = Task { try await Self.take(nil) }
    private static let takenBesideService = Task { try await Self.take(MasterService()) }
    /// What all tests copy once.
    static var shared: Haul { get async throws { try await self.taken.value } }
    /// The same of a server that has PINs evaluated by a PIN service, of which nothing is copied.
    static var besideService: Haul { get async throws { try await self.takenBesideService.value } }

    /// A PIN service.
    struct MasterService: PinEvaluating {
        /// Its secret.
        static let master = RandomSource.system.bytes(PinServiceKey.masterBytes)

        func key(of activation: String) async throws(PinServiceFailure) -> [UInt8] {
            try Self.key(activation).publicKey
        }

        func evaluate(_ blinded: [UInt8], of activation: String) async throws(PinServiceFailure) -> [UInt8] {
            let key = try Self.key(activation)
            do throws(PinSchemeError) { return try key.evaluate(blinded) } catch { throw .malformed }
        }

        private static func key(_ activation: String) throws(PinServiceFailure) -> PinServiceKey {
            do throws(PinSchemeError) {
                return try PinServiceKey(master: SecretBytes(self.master), activation: activation)
            } catch {
                throw .malformed
            }
        }
    }

    private static func take(_ service: MasterService?) async throws -> Haul {
        let (haul, continuation) = AsyncStream.makeStream(of: Haul.self)
        try await IdentityStage.run(pins: service) { stage async throws in
            let phone = try await stage.personalizedPhone(pin: Self.right)
            let info = try await phone.prepare(try await stage.data(for: phone))
            _ = try await phone.finish(info, pin: Self.wrong)
            stage.server.clock.advance(by: .seconds(60))
            guard try await phone.finish(info, pin: Self.right).isUserLogin else { return }
            continuation.yield(try await Self.take(from: stage, phone, service))
        }
        continuation.finish()
        for await haul in haul { return haul }
        throw StoreError(.notFound, "nothing was taken")
    }

    private static func take(from stage: IdentityStage, _ phone: StagePhone, _ service: MasterService?) async throws
        -> Haul
    {
        let waiting = try await stage.offer(pin: Self.right)
        // Somebody who has photographed the code asks the server, which counts for nothing.
        let before = stage.traffic.exchanges.count
        let secret = try #require(Base64URL.decode(waiting.code.split(separator: "~").last ?? ""))
        let opening = OpenRequest(claim: ProcessCode.claim(of: SecretBytes(secret)), security: nil)
        let address = try #require(URL(string: "\(IdentityStage.issuer)/identity/activations/\(waiting.id)/open"))
        _ = try await stage.traffic.send(
            TransportRequest(
                method: "POST", url: address, headers: [("Content-Type", "application/json")],
                body: opening.serialized, timeout: .seconds(5)))
        let answers = stage.traffic.exchanges.dropFirst(before).map(\.answer)

        let account = try await stage.server.accountID()
        let activation = try #require(try await stage.server.database.activations(accountID: account).first)
        let context = PinScheme.Context(
            server: IdentityStage.issuer, activation: activation.device.id, version: activation.pinVersion ?? 0)
        let keys = try await stage.server.database.credentials(accountID: account).map(\.publicKey)
        let offers = try await stage.server.database.offers(accountID: account, at: stage.server.clock.now())
        let drawn = stage.drawn.all.filter { $0.count == PinScheme.phoneHalfBytes }
        let half = try await TriedPins.run {
            try drawn.first { half in
                let key = try TriedPins.key(
                    of: Self.right, half, context,
                    evaluate: service.map { _ in
                        TriedPins.evaluator(master: MasterService.master, activation: context.activation)
                    })
                return keys.contains(Array(key.publicKey.x963Representation))
            }
        }
        let trail = try await stage.server.database.auditEntries(after: 0, limit: 1000)
        let traces = ["server-trace", "phone-trace"].compactMap {
            FileManager.default.contents(atPath: "\(stage.folder)/\($0)").map { Array($0) }
        }
        return Haul(
            phone: context,
            waiting: PinScheme.Context(server: IdentityStage.issuer, activation: waiting.id, version: 0),
            code: [Array(waiting.code.utf8)] + answers, database: try await stage.server.cells().map(\.bytes),
            openedKeys: keys + offers.map(\.pinKey),
            kept: phone.storage.everWritten, storage: phone.storage.everWritten + stage.drawn.all,
            traffic: stage.traffic.exchanges.flatMap { [$0.request, $0.answer, Array(($0.proof ?? "").utf8)] },
            records: traces + stage.lines.all.map { Array($0.utf8) } + trail.map { Array("\($0.event)".utf8) },
            agreements: try await Self.agreements(of: account, from: stage),
            phoneHalf: try #require(half, "the phone's half was drawn by chance"))
    }

    /// The evidence that an operator is given, with the statement that the server signs.
    private static func agreements(of account: String, from stage: IdentityStage) async throws -> [[UInt8]] {
        let consents = stage.server.assembly.ceremonies.identities.consents
        var all: [[UInt8]] = []
        for kept in try await consents.consents(accountID: account) {
            let shown = try await consents.consent(session: kept.record.session, accountID: account)
            let (consent, statement) = try #require(shown)
            all += [consent.record.document, Array(consent.record.finalChallenge.utf8), Array(statement.utf8)]
            all += consent.record.factors.map { JSON.object($0.json).serialized }
        }
        return all
    }

    /// The key of a PIN by the product's own scheme.
    static func key(of pin: String, _ half: [UInt8], _ context: PinScheme.Context) async throws
        -> P256.Signing.PrivateKey
    {
        try await TriedPins.run {
            try PinScheme.pin1.key(
                pin: SecretBytes(utf8: pin), phoneHalf: SecretBytes(half), parameters: try PinParameters(),
                context: context)
        }
    }
}
