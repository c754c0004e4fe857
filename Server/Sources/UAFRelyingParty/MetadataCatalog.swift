import Crypto
import Foundation
public import UAF

/// The models of authenticators that a server knows, each with its statement (§16), and what of them is revoked.
public struct MetadataCatalog: Sendable {
    private var entries: [AAID: Entry] = [:]
    private var revocations = RevocationList()

    /// The statuses that refuse a model with 1493, where any report has one.
    ///
    /// The standard has the latest report count (§16). Here none is lifted by a later one, nor by one of a day to come:
    /// that an update is available mends no authenticator. An operator who finds a model good again takes the report
    /// out of its file.
    public var refusedStatuses: Set<AuthenticatorStatus> = AuthenticatorStatus.compromised

    /// A statement with what policies and attestations ask about it, made once: every response asks.
    struct Entry: Sendable {
        let statement: MetadataStatement
        let info: AuthenticatorInfo
        let assurance: ModelAssurance
        let roots: [AttestationCertificate]
        let statuses: Set<AuthenticatorStatus>

        init(_ statement: MetadataStatement, statuses: Set<AuthenticatorStatus>) {
            self.statement = statement
            self.info = statement.info
            self.assurance = ModelAssurance(statement)
            self.roots = statement.attestationRootCertificates.compactMap { try? AttestationCertificate($0) }
            self.statuses = statuses
        }

        /// What a policy is held against: the metadata, except for the version, which an assertion tells (§2.2).
        func candidate(version: UInt16, keyID: KeyID) -> PolicyCandidate {
            var info = self.info
            info.authenticatorVersion = version
            return PolicyCandidate(info: info, keyIDs: [keyID])
        }
    }

    /// A catalog of these statements; of two for one AAID the later counts. `revoked` models are refused with 1493.
    public init(_ statements: [MetadataStatement] = [], revoked: Set<AAID> = []) {
        for statement in statements { self.add(statement) }
        self.revocations.models = revoked
    }

    /// The catalog of this product's own authenticators, whose statements are part of the program.
    public static func builtIn() throws(UAFError) -> MetadataCatalog {
        var catalog = MetadataCatalog()
        for bytes in [
            PackageResources.C516_0001_json, PackageResources.C516_0002_json, PackageResources.C516_0003_json,
            PackageResources.C516_0004_json, PackageResources.C516_0005_json, PackageResources.C516_0006_json,
            PackageResources.C516_0007_json,
        ] {
            catalog.add(try MetadataStatement(parsing: bytes))
        }
        return catalog
    }

    /// The name of the file in a folder of statements that is a ``RevocationList``.
    public static let revocationFile = "revoked.json"

    /// Adds the statements of all files in a folder whose names end in `.json`, in the order of their names, and what
    /// ``revocationFile`` revokes. A file is a statement, or an entry of a metadata service with its status reports.
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
            do throws(UAFError) {
                if name == Self.revocationFile {
                    self.revoke(try RevocationList(parsing: bytes))
                } else {
                    try self.add(try MetadataEntry(parsing: bytes))
                }
            } catch { throw MetadataFolderError(file: name, reason: error.description) }
        }
    }

    /// Adds a statement, in place of an earlier one for its AAID.
    ///
    /// A root certificate that cannot be read is no root: no attestation ends at it.
    public mutating func add(_ statement: MetadataStatement) { self.add(Entry(statement, statuses: [])) }

    /// Adds an entry's statement with the statuses of its reports, in place of an earlier one for its AAID.
    ///
    /// Throws ``UAF/UAFError/Code/invalidValue`` for a root certificate that cannot be read.
    public mutating func add(_ entry: MetadataEntry) throws(UAFError) {
        let statement = entry.statement
        let new = Entry(statement, statuses: Set(entry.reports.map(\.status)))
        guard new.roots.count == statement.attestationRootCertificates.count else {
            throw UAFError(.invalidValue, "metadata: a root certificate")
        }
        self.add(new)
    }

    private mutating func add(_ entry: Entry) { self.entries[entry.statement.aaid] = entry }

    /// Refuses a model from now on.
    public mutating func revoke(_ aaid: AAID) { self.revocations.models.insert(aaid) }

    /// Refuses what a list names from now on, beside what is refused already.
    public mutating func revoke(_ list: RevocationList) { self.revocations.formUnion(list) }

    /// The statement of a model; `nil` where it is not known.
    public subscript(aaid: AAID) -> MetadataStatement? { self.entries[aaid]?.statement }

    func entry(_ aaid: AAID) -> Entry? { self.entries[aaid] }

    /// Whether operations can have to do with a model: it is known, and it is not the one that signs in the ceremonies of
    /// personalised identities alone.
    public func servesOperations(_ aaid: AAID) -> Bool { self.entries[aaid] != nil && aaid != ServerPinModel.aaid }

    /// What a policy asks about a model; `nil` where it is not known.
    public func info(_ aaid: AAID) -> AuthenticatorInfo? { self.entries[aaid]?.info }

    /// Whether a model is refused, by a list or by its status.
    public func isRevoked(_ aaid: AAID) -> Bool {
        self.revocations.models.contains(aaid)
            || !(self.entries[aaid]?.statuses.isDisjoint(with: self.refusedStatuses) ?? true)
    }

    /// Whether a certificate of the model's attestation is refused, itself or its key.
    func isRevoked(_ certificate: AttestationCertificate, of aaid: AAID) -> Bool {
        self.revocations.certificates.contains(
            RevocationList.Certificate(aaid: aaid, serialNumber: certificate.serialNumber))
            || self.isRevoked(key: certificate.subjectPublicKeyInfo)
    }

    /// The same for a certificate of which no more is known.
    func isRevoked(serialNumber: [UInt8], keyDigest: [UInt8], of aaid: AAID) -> Bool {
        self.revocations.certificates.contains(RevocationList.Certificate(aaid: aaid, serialNumber: serialNumber))
            || self.revocations.keys.contains(keyDigest)
    }

    /// Whether a key is refused. The key is only made where any is: that costs.
    func isRevoked(key subjectPublicKeyInfo: @autoclosure () -> [UInt8]) -> Bool {
        guard !self.revocations.keys.isEmpty else { return false }
        return self.revocations.keys.contains(Array(SHA256.hash(data: subjectPublicKeyInfo())))
    }

    /// Whether another model's attestation may lead through the same authority, so that a leaf must say which of them
    /// it is for: a certificate of the path has the key of one that the other model lists, whatever else that says (of
    /// one authority there may be several certificates), or the path ends below such a one.
    func isShared(_ path: [AttestationCertificate], of aaid: AAID) -> Bool {
        self.entries.values.contains { entry in
            entry.statement.aaid != aaid
                && entry.roots.contains { root in
                    path.contains { $0.subjectPublicKeyInfo == root.subjectPublicKeyInfo }
                        || path[path.count - 1].isIssued(by: root)
                }
        }
    }

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
