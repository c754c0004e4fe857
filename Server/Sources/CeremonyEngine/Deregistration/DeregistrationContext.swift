import Records
import Settings
import UAF
import _Primitives

/// The person and the keys of a deregistration: the `context` of its request.
struct DeregistrationContext: Sendable {
    /// The selection of keys (`mode`).
    enum Keys: Sendable, Equatable {
        /// `username`: all keys of the account.
        case all
        /// `aaid`: the keys of one model, on every device.
        case model(AAID)
        /// `key`: the named keys, at least one.
        case named([DeregisterAuthenticator])
    }

    /// The person: a user name for the person's own device, a subject for a relying party.
    let person: String
    let keys: Keys

    /// Reads the `context` of a deregistration request. Throws `invalidRequest` for a missing or unknown member, an
    /// unknown mode, or too many keys, because the keys to delete must not be a guess.
    ///
    /// - Parameter person: The name of the member that names the person: `username` from the person's own device,
    ///   `subject` from a relying party.
    init(_ object: JSONObject, person: String, limits: Limits) throws(CeremonyError) {
        do {
            let mode = try object.requiredString("mode")
            self.person = try object.requiredString(person)
            let member: String?
            switch mode {
            case "username": (self.keys, member) = (.all, nil)
            case "aaid": (self.keys, member) = (.model(try AAID(try object.requiredString("aaid"))), "aaid")
            case "key":
                (self.keys, member) = (.named(try Self.names(try object.array("keys"), limits)), "keys")
            default: throw CeremonyError(.invalidRequest, "an unknown mode of deregistration")
            }
            guard object.members.allSatisfy({ ["mode", person, member].compactMap(\.self).containsBytes(of: $0.name) })
            else {
                throw CeremonyError(.invalidRequest, "a context member that is not known")
            }
        } catch let error as CeremonyError {
            throw error
        } catch {
            throw CeremonyError(.invalidRequest, "a context that is not understood")
        }
    }

    /// Reads the keys of a dispatched deregistration; `nil` for a ceremony of another kind. Throws `corrupt` for an
    /// unreadable text.
    init?(of ceremony: CeremonyRecord, limits: Limits) throws {
        guard ceremony.kind == .deregistration else { return nil }
        guard let text = ceremony.detail.deregistration, case .object(let object)? = try? JSON(parsing: text.utf8),
            let context = try? Self(object, person: "subject", limits: limits)
        else { throw StoreError(.corrupt, "a deregistration of nothing") }
        self = context
    }

    private static func names(_ values: [JSON]?, _ limits: Limits) throws -> [DeregisterAuthenticator] {
        guard let values, (1...limits.deregisteredKeys).contains(values.count) else {
            throw CeremonyError(.invalidRequest, "no keys, or too many")
        }
        return try values.map { value in
            guard case .object(let object) = value, object.members.count == 2 else {
                throw CeremonyError(.invalidRequest, "a key that is not named by aaid and keyID")
            }
            return .key(
                try AAID(try object.requiredString("aaid")), try KeyID(base64URL: try object.requiredString("keyID")))
        }
    }

    /// The keys that the client is told to delete (§8.5 step 1).
    var message: [DeregisterAuthenticator] {
        switch self.keys {
        case .all: [.everything]
        case .model(let aaid): [.allKeys(of: aaid)]
        case .named(let names): names
        }
    }

    /// The keys for the store to delete.
    var selection: CredentialSelection {
        switch self.keys {
        case .all: .all
        case .model(let aaid): .model(aaid.text)
        case .named(let names):
            .keys(
                names.compactMap { name in
                    guard let aaid = name.aaid, let keyID = name.keyID else { return nil }
                    return CredentialSelection.Name(aaid: aaid.text, keyID: keyID.bytes)
                })
        }
    }
}
