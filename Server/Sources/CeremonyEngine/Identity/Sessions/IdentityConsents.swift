public import Ceremony
import Crypto
public import PersonalInformation
public import Records
import Settings
import _Primitives

/// The consents of people, for viewers.
public struct IdentityConsents: CeremonyPart {
    let environment: CeremonyEnvironment
    let store: any IdentityConsentStore
    let keys: ManagerKeys

    /// A consent, with its document.
    public struct Consent: Sendable {
        /// The stored record.
        public let record: IdentityConsentRecord
        /// The document that was shown and signed.
        public let document: SessionDocument

        /// The person's attributes that go to the service, in the order of the attributes.
        public var attributes: [PersonalAttribute] {
            PersonalAttribute.allCases.filter { self.document.attributes[$0] != nil }
        }

        /// SHA-256 of the document, as in the trail.
        public var documentHash: [UInt8] { Array(SHA256.hash(data: self.record.document)) }

        init(_ record: IdentityConsentRecord) throws {
            self.record = record
            do { self.document = try SessionDocument(parsing: record.document) } catch {
                throw StoreError(.corrupt, "the document of a consent")
            }
        }
    }

    /// Returns the newest consents of an account, the newest first, at most ``Limits/identityConsentRows``.
    public func consents(accountID: String) async throws -> [Consent] {
        try await self.store.identityConsents(accountID: accountID, limit: self.limits.identityConsentRows)
            .map { try Consent($0) }
    }

    /// Returns an account's consent of a session, with the server's statement about the consent; `nil` if there is
    /// none.
    ///
    /// The statement is signed on request, by the key in turn. So a sign-in needs no signature for the statement, and
    /// the signature can be verified as long as the statement can be requested. Cost: one query, one signature.
    public func consent(session: String, accountID: String) async throws -> (consent: Consent, statement: String)? {
        guard let record = try await self.store.identityConsent(session: session, accountID: accountID) else {
            return nil
        }
        let consent = try Consent(record)
        let statement = ConsentStatement(
            session: record.session, account: record.accountID, documentHash: consent.documentHash,
            factors: record.factors.map(\.type), agreedAt: record.at)
        return (consent, try self.keys.sign(statement, at: self.time.now()))
    }
}
