public import _Primitives

/// The form of receipts (decision 121).
public enum ReceiptFormat {
    /// The `typ` of a receipt. No other text of this server has the type, and no address takes a receipt as a token.
    public static let type = "transaction-receipt+jwt"
    /// The bytes of a salt.
    public static let saltBytes = 32
}

/// The receipt of a confirmed transaction, with the evidence of the device for the person alone.
public struct ReceiptRecord: Sendable, Equatable {
    /// The session in which the person confirmed. A session has at most one receipt.
    public var session: String
    /// The client whose back end asked.
    public var clientID: String
    /// The account of the person.
    public var accountID: String
    /// The receipt as the server signed the receipt: a compact JWS.
    public var receipt: String
    /// The evidence of each signature, in the order of the receipt's `evidence`.
    public var evidence: [Evidence]
    /// The moment from which the receipt is no longer kept.
    public var keptUntil: Timestamp

    /// A signature of the person's device, with all data for its verification, and the salts of the hashes in the
    /// receipt. A back end never gets these: by a key two back ends would find their common customer.
    public struct Evidence: Sendable, Equatable {
        /// The authenticator's model.
        public var aaid: String
        /// The assertion as it was sent (UAF Authenticator Commands, section 5.2).
        public var assertion: [UInt8]
        /// The random bytes before the assertion in the hash.
        public var assertionSalt: [UInt8]
        /// The public key, in the encoding that ``keyFormat`` names.
        public var key: [UInt8]
        /// The random bytes before the key in the hash.
        public var keySalt: [UInt8]
        /// UAF registry number of the key's encoding.
        public var keyFormat: UInt16
        /// UAF registry number of the signature algorithm.
        public var algorithm: UInt16

        /// Describes a signature by a registered key.
        public init(
            aaid: String, assertion: [UInt8], assertionSalt: [UInt8], key: [UInt8], keySalt: [UInt8],
            keyFormat: UInt16, algorithm: UInt16
        ) {
            self.aaid = aaid
            self.assertion = assertion
            self.assertionSalt = assertionSalt
            self.key = key
            self.keySalt = keySalt
            self.keyFormat = keyFormat
            self.algorithm = algorithm
        }
    }

    /// Describes a receipt.
    public init(
        session: String, clientID: String, accountID: String, receipt: String, evidence: [Evidence],
        keptUntil: Timestamp
    ) {
        self.session = session
        self.clientID = clientID
        self.accountID = accountID
        self.receipt = receipt
        self.evidence = evidence
        self.keptUntil = keptUntil
    }
}

/// A key that signs receipts, or has signed receipts: the public key and the times. Kept for ever, because a receipt is
/// shown years after its key has signed.
public struct ReceiptKeyRecord: Sendable, Equatable {
    /// The name of the key (`kid`).
    public let id: String
    /// The public key: a JWK as JSON.
    public let publicKey: String
    /// The moment from which the key signs.
    public let signsFrom: Timestamp
    /// The moment from which the next key signs; `nil` for the newest key.
    public let signsUntil: Timestamp?
    /// The moment since which others may have seen the private key, as an operator says; `nil` if nobody has. A receipt
    /// of such a key proves nothing without the audit trail, whatever time the receipt names.
    public let seenSince: Timestamp?

    /// Describes a key.
    public init(id: String, publicKey: String, signsFrom: Timestamp, signsUntil: Timestamp?, seenSince: Timestamp?) {
        self.id = id
        self.publicKey = publicKey
        self.signsFrom = signsFrom
        self.signsUntil = signsUntil
        self.seenSince = seenSince
    }
}

/// Keeps the receipts of confirmed transactions, and the public keys of their signatures. The step that ends the ceremony
/// adds the receipt (``CeremonyChange/receipt``). A receipt goes with its account.
public protocol ReceiptStore: Sendable {
    /// Returns the receipt of a session for the client that dispatched the session; `nil` if the client has no such
    /// receipt, or the receipt is kept no longer.
    func receipt(session: String, clientID: String, at now: Timestamp) async throws -> ReceiptRecord?

    /// Returns the newest receipts of an account, the newest first, at most `limit`.
    func receipts(accountID: String, at now: Timestamp, limit: Int) async throws -> [ReceiptRecord]

    /// Returns every key that signs or has signed receipts, the newest first.
    func receiptKeys() async throws -> [ReceiptKeyRecord]
}
