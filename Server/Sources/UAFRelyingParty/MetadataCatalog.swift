import Foundation
public import UAF

/// The models of authenticators that a server knows, each with its statement (§16).
public struct MetadataCatalog: Sendable {
    private var entries: [AAID: Entry] = [:]
    private var revoked: Set<AAID> = []

    /// A statement with what policies ask about it, made once: every response asks.
    struct Entry: Sendable {
        let statement: MetadataStatement
        let info: AuthenticatorInfo
    }

    /// A catalog of these statements; of two for one AAID the later counts. `revoked` models are refused with 1493.
    public init(_ statements: [MetadataStatement] = [], revoked: Set<AAID> = []) {
        for statement in statements { self.add(statement) }
        self.revoked = revoked
    }

    /// The catalog of this product's own authenticators, whose statements are part of the program.
    public static func builtIn() throws(UAFError) -> MetadataCatalog {
        var catalog = MetadataCatalog()
        for bytes in [
            PackageResources.C516_0001_json, PackageResources.C516_0002_json, PackageResources.C516_0003_json,
            PackageResources.C516_0004_json, PackageResources.C516_0005_json, PackageResources.C516_0006_json,
        ] {
            catalog.add(try MetadataStatement(parsing: bytes))
        }
        return catalog
    }

    /// Adds the statements of all files in a folder whose names end in `.json`, in the order of their names.
    ///
    /// Throws ``MetadataFolderError``: one bad file is no reason to run with fewer models than the operator believes.
    public mutating func add(folder path: String) throws {
        let names: [String]
        do { names = try FileManager.default.contentsOfDirectory(atPath: path) } catch {
            throw MetadataFolderError(file: path, reason: "the folder cannot be read")
        }
        for name in names.sorted() where name.hasSuffix(".json") {
            guard let bytes = FileManager.default.contents(atPath: "\(path)/\(name)") else {
                throw MetadataFolderError(file: name, reason: "the file cannot be read")
            }
            do { self.add(try MetadataStatement(parsing: bytes)) } catch {
                throw MetadataFolderError(file: name, reason: error.description)
            }
        }
    }

    /// Adds a statement, in place of an earlier one for its AAID.
    public mutating func add(_ statement: MetadataStatement) {
        self.entries[statement.aaid] = Entry(statement: statement, info: statement.info)
    }

    /// Refuses a model from now on.
    public mutating func revoke(_ aaid: AAID) { self.revoked.insert(aaid) }

    /// The statement of a model; `nil` where it is not known.
    public subscript(aaid: AAID) -> MetadataStatement? { self.entries[aaid]?.statement }

    func entry(_ aaid: AAID) -> Entry? { self.entries[aaid] }

    /// What a policy asks about a model; `nil` where it is not known.
    public func info(_ aaid: AAID) -> AuthenticatorInfo? { self.entries[aaid]?.info }

    /// Whether a model is refused.
    public func isRevoked(_ aaid: AAID) -> Bool { self.revoked.contains(aaid) }

    /// All models that are known.
    public var aaids: Set<AAID> { Set(self.entries.keys) }
}

/// A folder or file of metadata statements that cannot be used.
public struct MetadataFolderError: Error, Hashable, Sendable, CustomStringConvertible {
    /// The folder or the file's name.
    public let file: String
    /// What is wrong with it.
    public let reason: String

    public var description: String { "metadata \(self.file): \(self.reason)" }
}
