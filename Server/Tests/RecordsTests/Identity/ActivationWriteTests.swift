import Records
import Testing
import _Primitives

/// The rules of activations, of their offers and of their attempts.
struct ActivationWriteTests {
    private static let now = Timestamp(seconds: 1_800_000_000)

    private static let before = ActivationRecord(
        device: DeviceRecord(id: "device", accountID: "ada", name: "Phone", isActive: true, createdAt: Self.now),
        signingKey: [1], encryptionKey: [2], pinVersion: 1)

    private static func changed(_ change: (inout ActivationRecord) -> Void) -> ActivationRecord {
        var activation = Self.before
        change(&activation)
        return activation
    }

    @Test(
        "A step writes the columns that it changes",
        arguments: [
            (Self.before, .nothing), (Self.changed { $0.lockout.failuresInARow = 1 }, .state),
            (Self.changed { $0.pinVersion = 2 }, .state), (Self.changed { $0.lastUsedAt = Self.now }, .state),
            (Self.changed { $0.signingKey = [3] }, .stateAndKeys),
            (Self.changed { $0.encryptionKey = [3] }, .stateAndKeys),
        ] as [(ActivationRecord, ActivationWrite)])
    func write(of activation: ActivationRecord, is write: ActivationWrite) throws {
        #expect(try activation.write(from: Self.before) == write)
    }

    @Test("A step does not change a device")
    func device() {
        let other = Self.changed { $0.device.name = "Another phone" }
        #expect(throws: StoreError(.conflict, "")) { try other.write(from: Self.before) }
    }

    @Test("A stored value that its type does not have is corrupt")
    func stored() throws {
        #expect(try OfferRecord.State(stored: 4, "an offer") == .revoked)
        #expect(try InviteRecord.State(stored: "open", "an invitation") == .open)
        let error = #expect(throws: StoreError(.corrupt, "")) {
            try OfferRecord.State(stored: 5, "an offer of an unknown state")
        }
        #expect(error?.reason == "an offer of an unknown state")
        #expect(throws: StoreError(.corrupt, "")) { try InviteRecord.State(stored: "Open", "an invitation") }
    }

    @Test("An unlocked account takes an activation")
    func account() {
        #expect(throws: Never.self) { try ActivationRecord.requireAccount(isLocked: false) }
        #expect(throws: StoreError(.forbidden, "")) { try ActivationRecord.requireAccount(isLocked: true) }
        #expect(throws: StoreError(.notFound, "")) { try ActivationRecord.requireAccount(isLocked: nil) }
    }

    @Test("The key of the PIN and the letter's code are kept while the code can be used")
    func offer() {
        var offer = OfferRecord(
            id: "offer", accountID: "ada", claimDigest: [1], pinKey: [2], pinParameters: "{}", name: nil,
            challenge: "challenge", createdAt: Self.now, expiresAt: Self.now)
        offer.letter = "code"
        for state in OfferRecord.State.allCases {
            offer.state = state
            #expect(offer.keptPinKey == (state == .offered ? [2] : nil))
            #expect(offer.keptLetter == (state == .offered ? "code" : nil))
        }
        offer.state = .offered
        #expect(offer.afterLetter(isLeft: true) == offer)
        #expect(offer.afterLetter(isLeft: false).letter == nil)
        (offer.pinKey, offer.letter) = ([], nil)
        #expect(offer.keptPinKey == nil)
        #expect(offer.keptLetter == nil)
    }

    @Test(
        "The moments of failed attempts are stored and read",
        arguments: [[], [5], [5, 6_000_000_000_000]] as [[Int64]])
    func failures(_ moments: [Int64]) throws {
        let lockout = LockoutRecord(failures: moments.map { Timestamp(milliseconds: $0) })
        #expect(try LockoutRecord.failures(kept: lockout.keptFailures) == lockout.failures)
    }

    @Test("A text that is no list of moments is corrupt", arguments: ["x", "5 x", "5.0", "9223372036854775808"])
    func corruptFailures(_ text: String) {
        #expect(throws: StoreError(.corrupt, "")) { try LockoutRecord.failures(kept: text) }
    }
}
