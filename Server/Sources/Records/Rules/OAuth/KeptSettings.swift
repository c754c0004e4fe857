import JOSE
import _Primitives

extension TokenSettings {
    /// The stored form of the settings. A missing member has the value of a client that names nothing.
    package var text: String {
        var json: JSONObject = [:]
        for (name, list) in [
            ("scopes", self.scopes), ("resources", self.resources), ("audiences", self.audiences),
            ("subjects", self.subjects),
        ] where !list.isEmpty {
            json[name] = .array(list.map(JSON.string))
        }
        if self.format != .jwt { json["format"] = .string(self.format.rawValue) }
        json["actor"] = self.actor.map(JSON.string)
        json["group"] = self.group.map(JSON.string)
        if self.certificateBound { json["certificateBound"] = .bool(true) }
        json["idTokenEncryption"] = self.idTokenEncryption.map {
            .array([.string($0.algorithm.rawValue), .string($0.content.rawValue)])
        }
        json["usedRefreshTokenSeconds"] = self.usedRefreshTokenLifetime.map { .integer($0.components.seconds) }
        if !self.refreshesIDToken { json["refreshesIDToken"] = .bool(false) }
        if self.keyBound { json["keyBound"] = .bool(true) }
        json["userinfoAlgorithm"] = self.userinfoAlgorithm.map { .string($0.rawValue) }
        return JSON.object(json).text
    }

    /// Reads the output of ``text``. Throws ``StoreError/Code/corrupt``.
    package init(kept text: String) throws {
        do {
            guard case .object(let json) = try JSON(parsing: text) else {
                throw StoreError(.corrupt, "a client's tokens")
            }
            let format = try json.string("format").map(Format.init(rawValue:)) ?? .jwt
            guard let format else { throw StoreError(.corrupt, "what a client's tokens look like") }
            self.init(
                scopes: try json.strings("scopes") ?? [], resources: try json.strings("resources") ?? [],
                audiences: try json.strings("audiences") ?? [], format: format,
                subjects: try json.strings("subjects") ?? [], actor: try json.string("actor"),
                group: try json.string("group"), certificateBound: try json.bool("certificateBound") ?? false,
                idTokenEncryption: try json.strings("idTokenEncryption").map(IDTokenEncryption.init(kept:)),
                usedRefreshTokenLifetime: try json.integer("usedRefreshTokenSeconds", as: Int64.self).map {
                    .seconds($0)
                },
                refreshesIDToken: try json.bool("refreshesIDToken") ?? true)
            self.keyBound = try json.bool("keyBound") ?? false
            self.userinfoAlgorithm = try json.string("userinfoAlgorithm").map { name in
                guard let algorithm = JWSAlgorithm(rawValue: name) else {
                    throw StoreError(.corrupt, "the algorithm of a client's userinfo")
                }
                return algorithm
            }
        } catch is JSONError {
            throw StoreError(.corrupt, "a client's tokens")
        }
    }
}

extension IDTokenEncryption {
    fileprivate init(kept names: [String]) throws {
        guard names.count == 2, let algorithm = KeyManagementAlgorithm(rawValue: names[0]),
            let content = ContentEncryption(rawValue: names[1])
        else { throw StoreError(.corrupt, "how a client's ID tokens are encrypted") }
        self.init(algorithm, content: content)
    }
}

extension SignInServiceSettings {
    /// Reads the stored settings. Throws ``StoreError/Code/corrupt``.
    package init(kept text: String) throws {
        do {
            guard case .object(let json) = try JSON(parsing: text) else {
                throw StoreError(.corrupt, "a client of the app sign-in service")
            }
            self = try SignInServiceSettings().changed(by: json)
        } catch is JSONError {
            throw StoreError(.corrupt, "a client of the app sign-in service")
        }
    }
}

/// The owner of a resource (RFC 8707), as the store has found the client.
package struct ResourceOwner: Sendable, Equatable {
    /// The identifier of the owner; `nil` if no client owns the resource.
    package let client: String?

    /// Makes an owner.
    package init(client: String?) { self.client = client }

    /// Throws ``StoreError/Code/conflict`` if a client other than `claimant` owns the resource.
    package func check(claimant: String) throws {
        guard let client = self.client, !client.hasSameBytes(as: claimant) else { return }
        throw StoreError(.conflict, "another client owns the resource")
    }
}
