import Crypto
import UAFClient
import _Primitives

/// The tokens that this device has redeemed, by their digests: a person whose app was killed scans the same code again, and
/// nobody else has used it.
///
/// A token is noted before it leaves, as nobody knows when an app is killed. It is forgotten where the server's answer says
/// that it was not this device. Where there was no answer it stays noted: this device may have been it.
actor RedeemedTokens {
    private static let name = "redeemed-tokens"
    /// The most tokens that are kept; the oldest goes first. No server lets a code live until as many others were used.
    private static let maximum = 32

    private let storage: any SecureStorage
    private var noted: [String]?
    /// Those whose answer has come, in this process.
    private var confirmed: Set<ExactText> = []

    init(storage: any SecureStorage) { self.storage = storage }

    /// Notes a token that is about to leave, and returns whether it was noted before. Where it cannot be written down it leaves
    /// all the same: the person is warned once more than need be.
    func note(_ token: String) -> Bool {
        let digest = Self.digest(of: token)
        let noted = self.all
        guard !noted.containsBytes(of: digest) else { return true }
        self.write((noted + [digest]).suffix(Self.maximum))
        return false
    }

    /// The server has given what the token stands for.
    func confirm(_ token: String) {
        self.confirmed.insert(ExactText(Self.digest(of: token)))
        _ = self.note(token)
    }

    /// The server's answer says that this device has not redeemed the token. It stays where another answer has come meanwhile.
    func forget(_ token: String) {
        let name = Self.digest(of: token)
        let noted = self.all
        guard !self.confirmed.contains(ExactText(name)), noted.containsBytes(of: name) else { return }
        self.write(noted.filter { !$0.hasSameBytes(as: name) })
    }

    /// What is written down. What cannot be read is nothing: the person is warned once more than need be.
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
