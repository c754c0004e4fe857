import Crypto
import UAFClient
import _Primitives

/// The tokens that this device has redeemed, by their digests. A person whose app was killed scans the same code again;
/// the digests show that this device, and not another party, used the code.
///
/// A token is noted before it is sent, because an app can be killed at any moment. A token is forgotten if the server's
/// answer says that another device redeemed it. Without an answer the token stays noted: this device may have redeemed
/// it.
actor RedeemedTokens {
    private static let name = "redeemed-tokens"
    /// The maximum number of stored tokens; beyond the maximum, the oldest token is removed first. No server lets a
    /// code live until so many others were used.
    private static let maximum = 32

    private let storage: any SecureStorage
    private var noted: [String]?
    /// The tokens whose answer has arrived in this process.
    private var confirmed: Set<ExactText> = []

    init(storage: any SecureStorage) { self.storage = storage }

    /// Notes a token that is about to be sent, and returns `true` if the token was noted before. If the note cannot be
    /// stored, the token is sent all the same: the person is then warned once more than necessary.
    func note(_ token: String) -> Bool {
        let digest = Self.digest(of: token)
        let noted = self.all
        guard !noted.containsBytes(of: digest) else { return true }
        self.write((noted + [digest]).suffix(Self.maximum))
        return false
    }

    /// Records that the server has returned the token's operation.
    func confirm(_ token: String) {
        self.confirmed.insert(ExactText(Self.digest(of: token)))
        _ = self.note(token)
    }

    /// Forgets a token, because the server's answer says that this device has not redeemed it. The token stays if
    /// another answer has arrived meanwhile.
    func forget(_ token: String) {
        let name = Self.digest(of: token)
        let noted = self.all
        guard !self.confirmed.contains(ExactText(name)), noted.containsBytes(of: name) else { return }
        self.write(noted.filter { !$0.hasSameBytes(as: name) })
    }

    /// The stored digests. An unreadable value counts as empty: the person is then warned once more than necessary.
    private var all: [String] {
        if let noted { return noted }
        guard let bytes = try? self.storage.read(Self.name), case .object(let object)? = try? JSON(parsing: bytes)
        else {
            return []
        }
        return (try? object.strings("digests")) ?? []
    }

    private func write(_ digests: [String]) {
        let object: JSONObject = ["version": .integer(1), "digests": .array(digests.map(JSON.string))]
        guard (try? self.storage.write(JSON.object(object).serialized, to: Self.name)) != nil else { return }
        self.noted = digests
    }

    private static func digest(of token: String) -> String {
        Base64URL.encode(Array(SHA256.hash(data: Array(token.utf8))))
    }
}
