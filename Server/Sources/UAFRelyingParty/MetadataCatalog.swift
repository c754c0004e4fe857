import Crypto
import Foundation
public import UAF
import _Primitives

/// The authenticator models that a server knows, each with its statement (§16), and the revocations.
public struct MetadataCatalog: Sendable {
    private var entries: [AAID: Entry] = [:]
    private var revocations = RevocationList()

    /// The statuses that refuse a model with 1493, if any report has such a status.
    ///
    /// In the standard the latest report counts (§16). Here a later report lifts no earlier report, and a report with a
    /// future date counts too: an available update repairs no authenticator. An operator who finds a model good again
    /// removes the report from its file.
    public var refusedStatuses: Set<AuthenticatorStatus> = AuthenticatorStatus.compromised

    /// A statement with the derived values for policies and attestations. The values are made once, because every
    /// response needs them.
    struct Entry: Sendable {
        let statement: MetadataStatement
        let info: AuthenticatorInfo
        let assurance: ModelAssurance
        let roots: [AttestationCertificate]
        let statuses: Set<AuthenticatorStatus>

        init(_ statement: MetadataStatement, statuses: Set<AuthenticatorStatus>) {
            self.statement = statement
            var info = statement.info
            // A key that only attests itself can be any program's, whatever model the key claims. For policies, such a
            // model keeps its keys in software and verifies in software.
            if statement.attestationTypes.allSatisfy({ $0 == .basicSurrogate }) {
                info.keyProtection = .software
                info.matcherProtection = .software
            }
            self.info = info
            self.assurance = ModelAssurance(statement)
            self.roots = statement.attestationRootCertificates.compactMap { try? AttestationCertificate($0) }
            self.statuses = statuses
        }

        /// Returns the candidate that a policy is checked against: the metadata, with the version from the assertion
        /// (§2.2).
        func candidate(version: UInt16, keyID: KeyID) -> PolicyCandidate {
            var info = self.info
            info.authenticatorVersion = version
            return PolicyCandidate(info: info, keyIDs: [keyID])
        }
    }

    /// Makes a catalog of these statements. If two statements have the same AAID, the later statement counts. `revoked`
    /// models are refused with 1493.
    public init(_ statements: [MetadataStatement] = [], revoked: Set<AAID> = []) {
        for statement in statements { self.add(statement) }
        self.revocations.models = revoked
    }

    /// Returns the catalog of this product's own authenticators, whose statements are part of the program.
    public static func builtIn() throws(UAFError) -> MetadataCatalog {
        var catalog = MetadataCatalog()
        for bytes in [
            PackageResources.C516_0001_json, PackageResources.C516_0002_json, PackageResources.C516_0003_json,
            PackageResources.C516_0004_json, PackageResources.C516_0005_json, PackageResources.C516_0006_json,
            PackageResources.C516_0007_json, PackageResources.C516_0103_json, PackageResources.C516_0104_json,
            PackageResources.C516_2001_json, PackageResources.C516_2002_json, PackageResources.C516_2003_json,
            PackageResources.C516_2004_json, PackageResources.C516_2005_json, PackageResources.C516_2006_json,
            PackageResources.C516_2103_json, PackageResources.C516_2104_json,
            PackageResources.C516_3001_json, PackageResources.C516_3002_json, PackageResources.C516_3003_json,
            PackageResources.C516_3004_json, PackageResources.C516_3005_json, PackageResources.C516_3006_json,
            PackageResources.C516_3103_json, PackageResources.C516_3104_json,
        ] {
            catalog.add(try MetadataStatement(parsing: bytes))
        }
        return catalog
    }

    /// The name of the ``RevocationList`` file in a folder of statements.
    public static let revocationFile = "revoked.json"

    /// Adds the statements of all files in a folder with names that end in `.json`, in the order of their names, and
    /// the revocations of ``revocationFile``. A file is a statement, or an entry of a metadata service with its status
    /// reports.
    ///
    /// Throws ``MetadataFolderError``: because of one bad file, a server must not run with fewer models than the
    /// operator believes.
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

    /// Adds a statement, in place of an earlier statement for the same AAID.
    ///
    /// The status reports of an earlier entry for the AAID count no more. An unreadable root certificate is no root: no
    /// attestation ends at it.
    public mutating func add(_ statement: MetadataStatement) { self.add(Entry(statement, statuses: [])) }

    /// Adds an entry's statement with the statuses of its reports, in place of an earlier statement for the same AAID.
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

    /// Refuses the contents of a list from now on, in addition to earlier refusals.
    public mutating func revoke(_ list: RevocationList) { self.revocations.formUnion(list) }

    /// The statement of a model; `nil` if the model is not known.
    public subscript(aaid: AAID) -> MetadataStatement? { self.entries[aaid]?.statement }

    func entry(_ aaid: AAID) -> Entry? { self.entries[aaid] }

    /// Returns `true` if operations can use a model: the model is known, and is not the model for ceremonies of
    /// personalised identities alone.
    public func servesOperations(_ aaid: AAID) -> Bool { self.entries[aaid] != nil && aaid != ServerPinModel.aaid }

    /// Returns the values that a policy needs about a model; `nil` if the model is not known.
    public func info(_ aaid: AAID) -> AuthenticatorInfo? { self.entries[aaid]?.info }

    /// Returns `true` if a model is refused, by a list or by its status.
    public func isRevoked(_ aaid: AAID) -> Bool {
        self.revocations.models.contains(aaid)
            || !(self.entries[aaid]?.statuses.isDisjoint(with: self.refusedStatuses) ?? true)
    }

    /// Returns `true` if a certificate of the model's attestation is refused: the certificate itself or its key.
    func isRevoked(_ certificate: AttestationCertificate, of aaid: AAID) -> Bool {
        self.revocations.certificates.contains(
            RevocationList.Certificate(aaid: aaid, serialNumber: certificate.serialNumber))
            || self.isRevoked(key: certificate.subjectPublicKeyInfo)
    }

    /// Returns `true` if a certificate of the model's attestation is refused, given by its serial number and the digest
    /// of its key.
    func isRevoked(serialNumber: [UInt8], keyDigest: [UInt8], of aaid: AAID) -> Bool {
        self.revocations.certificates.contains(RevocationList.Certificate(aaid: aaid, serialNumber: serialNumber))
            || self.revocations.keys.contains(keyDigest)
    }

    /// Returns `true` if a key is refused. The key is encoded only if some key is refused, because the encoding costs
    /// time.
    func isRevoked(key subjectPublicKeyInfo: @autoclosure () -> [UInt8]) -> Bool {
        guard !self.revocations.keys.isEmpty else { return false }
        return self.revocations.keys.contains(Array(SHA256.hash(data: subjectPublicKeyInfo())))
    }

    /// Returns `true` if another model's attestation may lead through the same authority, so that a leaf must name its
    /// model. This is the case if a certificate of the path has the key of a root of the other model. The other fields
    /// of the certificates do not matter, since one authority may have several certificates. This is also the case if
    /// the path ends below such a root.
    func isShared(_ path: [AttestationCertificate], of aaid: AAID) -> Bool {
        self.entries.values.contains { entry in
            entry.statement.aaid != aaid
                && entry.roots.contains { root in
                    path.contains { $0.subjectPublicKeyInfo == root.subjectPublicKeyInfo }
                        || path[path.count - 1].isIssued(by: root)
                }
        }
    }

    /// All known models.
    public var aaids: Set<AAID> { Set(self.entries.keys) }
}

/// An error about a folder or file of metadata statements that cannot be used.
public struct MetadataFolderError: Error, Hashable, Sendable, CustomStringConvertible {
    /// The folder or the name of the file.
    public let file: String
    /// The fault.
    public let reason: String

    public var description: String { "metadata \(self.file): \(self.reason)" }
}
