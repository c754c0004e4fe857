public import Ceremony
import Crypto
public import PersonalInformation
public import Store
import _Primitives

/// What people have agreed to, for those who look at it.
public struct IdentityConsents: CeremonyPart {
    let environment: CeremonyEnvironment
    let store: any IdentityConsentStore
    let keys: ManagerKeys

    /// A consent, with the document that it is about.
    public struct Consent: Sendable {
        /// As it is kept.
        public let record: IdentityConsentRecord
        /// What was shown and signed.
        public let document: SessionDocument

        /// Which data of the person's go to the service, in their order.
        public var attributes: [PersonalAttribute] {
            PersonalAttribute.allCases.filter { self.document.attributes[$0] != nil }
        }

        /// SHA-256 of the document, as the trail has it.
        public var documentHash: [UInt8] { Array(SHA256.hash(data: self.record.document)) }

        init(_ record: IdentityConsentRecord) throws {
            self.record = record
            do { self.document = try SessionDocument(parsing: record.document) } catch {
                throw StoreError(.corrupt, "the document of a consent")
            }
        }
    }

    /// The newest consents of an account, the newest first.
    public func consents(accountID: String) async throws -> [Consent] {
        try await self.store.identityConsents(accountID: accountID, limit: self.limits.identityConsentRows)
            .map { try Consent($0) }
    }

    /// An account's consent of a session, with the server's statement on it; `nil` where there is none.
    ///
    /// The statement is signed when it is asked for, by the key whose turn it is: so a sign-in costs no signature for it,
    /// and its signature can be verified as long as anybody can ask. Cost: one query, one signature.
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
