import HTTPTypes
import OAuth
package import OAuthProvider
package import Records
package import _Primitives

extension GrantSelection {
    /// Reads the selection of a query: with `client` all grants of the client, without `client` all grants.
    ///
    /// Throws a 400 ``Problem`` for any other parameter: a misspelt parameter would otherwise end more grants than the
    /// caller meant.
    package init(query: String?) throws {
        guard let query, !query.isEmpty else {
            self = .all
            return
        }
        guard let parameters = try? Parameters(parsing: query), parameters.members.count == 1,
            let client = parameters["client"], !client.isEmpty
        else {
            throw Problem(.badRequest, "invalid-request", "The query names nothing but a client.")
        }
        self = .client(client)
    }
}

extension GrantListing {
    /// The grant as people and operators read it.
    package var json: JSONObject {
        var object: JSONObject = [
            "kind": .string(self.kind.rawValue), "id": .string(self.id), "client": .string(self.client),
            "service": .string(self.clientName),
            "scopes": .array(self.scope.splitBytes(at: " ").map { .string(String($0)) }),
            "since": .string(self.since.description), "expiresAt": .string(self.expiresAt.description),
        ]
        object["usedAt"] = self.usedAt.map { .string($0.description) }
        object["session"] = self.session.map { .object($0.json) }
        return object
    }
}

extension GivingSession {
    /// The session as people and operators read it.
    fileprivate var json: JSONObject {
        var object: JSONObject = ["id": .string(self.id)]
        object["browser"] = self.browser.map(JSON.string)
        object["address"] = self.address.map(JSON.string)
        return object
    }
}

extension AccountSession {
    /// The session as people and operators read it.
    package var json: JSONObject {
        var object: JSONObject = [
            "id": .string(self.id),
            "services": .array(
                self.services.map { .object(["name": .string($0.name), "origin": .string($0.origin)]) }),
            "authenticatedAt": .string(self.authenticatedAt.description),
            "usedAt": .string(self.usedAt.description), "expiresAt": .string(self.expiresAt.description),
        ]
        object["browser"] = self.browser.map(JSON.string)
        object["address"] = self.address.map(JSON.string)
        return object
    }
}

extension GivenConsent {
    /// The consent as phones and operators read it.
    package var json: JSONObject {
        var object: JSONObject = [
            "id": .string(self.id), "clientId": .string(self.client), "name": .string(self.clientName),
            "items": .array(self.items.map { .string($0.rawValue) }),
            "scopes": .array(self.scopes.map(JSON.string)), "resources": .array(self.resources.map(JSON.string)),
            "grantedAt": .string(self.grantedAt.description),
        ]
        object["session"] = self.session.map { .object($0.json) }
        return object
    }
}
