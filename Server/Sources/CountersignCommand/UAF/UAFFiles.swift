import Foundation
import Settings
import UAF
import UAFRelyingParty
import _Primitives

/// Reads the files of `countersign uaf`. The reading is bounded, and as strict as a server's. A file that cannot be
/// read, or has other content, throws ``CommandFailure`` with ``CommandFailure/Status/noVerdict``.
struct UAFFiles {
    private func bytes(_ path: String) throws -> [UInt8] {
        guard let file = FileHandle(forReadingAtPath: path) else {
            throw CommandFailure(.noVerdict, "\(path) cannot be read")
        }
        defer { try? file.close() }
        let data: Data
        do { data = try file.read(upToCount: Limits.Commands.uafFileBytes + 1) ?? Data() } catch {
            throw CommandFailure(.noVerdict, "\(path) cannot be read")
        }
        guard data.count <= Limits.Commands.uafFileBytes else {
            throw CommandFailure(.noVerdict, "\(path) has more than \(Limits.Commands.uafFileBytes) bytes")
        }
        return Array(data)
    }

    /// Returns the message itself, or the message in the member `member` of an HTTPS transport's body (§6.2).
    private func message(_ path: String, member: String) throws -> [UInt8] {
        let bytes = try self.bytes(path)
        guard case .object(let body)? = try? JSON(parsing: bytes), let text = try? body.string(member) else {
            return bytes
        }
        return Array(text.utf8)
    }

    /// Returns a registration or authentication request.
    func request(_ path: String) throws -> UAFRequest {
        let request: UAFRequest
        do { request = try UAFRequest(parsing: try self.message(path, member: "uafRequest")) } catch let error
            as UAFError
        {
            throw CommandFailure(.noVerdict, "\(path) holds no UAF request (\(error))")
        }
        if case .deregistration = request {
            throw CommandFailure(.usage, "\(path) is a deregistration, to which there is no response")
        }
        return request
    }

    /// Returns a response, not yet parsed.
    func response(_ path: String) throws -> [UInt8] { try self.message(path, member: "uafResponse") }

    /// Returns the statements of files and folders.
    func metadata(_ paths: [String]) throws -> MetadataCatalog {
        var catalog = MetadataCatalog()
        for path in paths {
            var isFolder: ObjCBool = false
            guard FileManager.default.fileExists(atPath: path, isDirectory: &isFolder) else {
                throw CommandFailure(.noVerdict, "\(path) cannot be read")
            }
            if isFolder.boolValue {
                do { try catalog.add(folder: path) } catch let error as MetadataFolderError {
                    throw CommandFailure(.noVerdict, error.description)
                }
            } else {
                do { try catalog.add(try MetadataEntry(parsing: try self.bytes(path))) } catch let error as UAFError {
                    throw CommandFailure(.noVerdict, "\(path) holds no metadata statement (\(error))")
                }
            }
        }
        return catalog
    }

    /// Returns registered keys: one object, or the object with `keys` from the report of an accepted response.
    func keys(_ path: String) throws -> [RegisteredCredential] {
        do {
            guard case .object(let object) = try JSON(parsing: try self.bytes(path)) else {
                throw UAFError(.wrongType, "not an object")
            }
            guard let keys = try object.array("keys") else { return [try RegisteredCredential(json: object)] }
            return try keys.map { key in
                guard case .object(let object) = key else { throw UAFError(.wrongType, "a key that is no object") }
                return try RegisteredCredential(json: object)
            }
        } catch let failure as CommandFailure {
            throw failure
        } catch { throw CommandFailure(.noVerdict, "\(path) holds no registered key (\(error))") }
    }
}

extension RegisteredCredential {
    /// Reads a key in the form of `countersign uaf verify --json`. All other members are for people.
    init(json object: JSONObject) throws {
        guard let publicKey = Base64URL.decode(try object.requiredString("publicKey")),
            let attestation = Base64URL.decode(try object.string("attestation") ?? "")
        else { throw UAFError(.invalidBase64URL, "publicKey or attestation") }
        self.init(
            id: CredentialID(
                aaid: try AAID(try object.requiredString("aaid")),
                keyID: try KeyID(base64URL: try object.requiredString("keyID"))),
            publicKey: publicKey,
            publicKeyFormat: PublicKeyFormat(rawValue: try object.requiredInteger("publicKeyFormat")),
            signatureAlgorithm: SignatureAlgorithm(rawValue: try object.requiredInteger("signatureAlgorithm")),
            signCounter: try object.requiredInteger("signCounter"), account: try object.string("account") ?? "",
            // All keys of a file belong to one device.
            deviceRegistration: "", attestation: try AttestationEvidence(stored: attestation))
    }

    var json: JSONObject {
        var object: JSONObject = [
            "aaid": .string(self.id.aaid.text), "keyID": .string(self.id.keyID.base64URL),
            "publicKey": .string(Base64URL.encode(self.publicKey)),
            "publicKeyFormat": .integer(Int64(self.publicKeyFormat.rawValue)),
            "signatureAlgorithm": .integer(Int64(self.signatureAlgorithm.rawValue)),
            "signCounter": .integer(Int64(self.signCounter)), "account": .string(self.account),
        ]
        let attestation = self.attestation.stored
        if !attestation.isEmpty { object["attestation"] = .string(Base64URL.encode(attestation)) }
        return object
    }
}
