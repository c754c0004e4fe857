import Foundation
public import UAF
import _Primitives

/// The named policies of an operator, which relying parties request by name.
public struct PolicyCatalog: Sendable {
    private var policies: [ExactText: Policy] = [:]

    /// Makes a catalog without policies.
    public init() {}

    /// Reads the policies of all files in a folder with names that end in `.json`. Each file is a policy of the
    /// standard (§2.2), and the file's name is the name of the policy.
    ///
    /// Throws ``PolicyFileError`` for the first file that cannot be used. A name must have 1 to 64 lower-case letters,
    /// digits, dots and dashes, and must begin with a letter or digit. A file must have no unknown member.
    /// ``RequestBuilder/checkNamed(_:)`` refuses further policies by the models of `metadata`.
    public init(folder path: String, metadata: MetadataCatalog) throws(PolicyFileError) {
        guard let names = try? FileManager.default.contentsOfDirectory(atPath: path) else {
            throw PolicyFileError(file: path, reason: "the folder cannot be read")
        }
        for file in names.sorted() where file.hasSuffix(".json") {
            guard let bytes = FileManager.default.contents(atPath: "\(path)/\(file)") else {
                throw PolicyFileError(file: file, reason: "the file cannot be read")
            }
            do { try self.add(Self.policy(bytes), named: String(file.dropLast(5)), metadata: metadata) } catch {
                throw PolicyFileError(file: file, reason: "\(error)")
            }
        }
    }

    /// Adds a policy, in place of an earlier policy of the name. Throws ``PolicyFileError`` for an invalid name, and
    /// ``RequestError`` as ``RequestBuilder/checkNamed(_:)`` does.
    public mutating func add(_ policy: Policy, named name: String, metadata: MetadataCatalog) throws {
        guard Self.isName(name) else { throw PolicyFileError(file: name, reason: "not a name of a policy") }
        try RequestBuilder(metadata: metadata, appID: "").checkNamed(policy)
        self.policies[ExactText(name)] = policy
    }

    /// The policy of that name.
    public subscript(name: String) -> Policy? { self.policies[ExactText(name)] }

    /// All names, in alphabetical order.
    public var names: [String] { self.policies.keys.sorted().map(\.text) }

    private static func policy(_ bytes: Data) throws -> Policy {
        guard
            case .object(let object) = try JSON(
                parsing: bytes, limits: JSONLimits(bytes: VerificationLimits.policyFileBytes)),
            object.members.allSatisfy({ ["accepted", "disallowed"].contains($0.name) })
        else { throw JSONError(.wrongType, "not an object of accepted and disallowed") }
        let policy = try Policy(json: object)
        // A misspelt member would be no criterion at all, so the policy must have as many values as the file.
        guard JSON.object(policy.json).size == JSON.object(object).size else {
            throw JSONError(.wrongType, "a criterion with a member that is not known")
        }
        return policy
    }

    private static func isName(_ name: String) -> Bool {
        guard (1...VerificationLimits.policyNameBytes).contains(name.utf8.count), let first = name.utf8.first,
            first != UInt8(ascii: "-"),
            first != UInt8(ascii: ".")
        else { return false }
        return name.utf8.allSatisfy { byte in
            switch byte {
            case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "-"),
                UInt8(ascii: "."):
                true
            default: false
            }
        }
    }
}

/// An error about a folder or file of policies that cannot be used.
public struct PolicyFileError: Error, Hashable, Sendable, CustomStringConvertible {
    /// The folder or the name of the file.
    public let file: String
    /// The fault.
    public let reason: String

    public var description: String { "policy \(self.file): \(self.reason)" }
}

extension JSON {
    /// The number of values, this value included.
    fileprivate var size: Int {
        switch self {
        case .object(let object): object.members.reduce(1) { $0 + $1.value.size }
        case .array(let values): values.reduce(1) { $0 + $1.size }
        default: 1
        }
    }
}
