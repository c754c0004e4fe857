import Ceremony
import _Primitives

/// Every message between a phone and its server about a personalised identity, as either side reads it.
enum IdentityMessageTarget {
    private static let kinds: [any IdentityMessage.Type] = [
        // What a server reads of a phone, and what it finds sealed in it.
        OpenRequest.self, ProveRequest.self, ProveRequest.Proof.self, EnrollRequest.self, EnrollRequest.Enrolment.self,
        EvaluationRequest.self, StartRequest.self, PrepareRequest.self, FinishRequest.self, FinishRequest.Factors.self,
        InAppRequest.self, AccessRequest.self, CompleteRequest.self, Completion.self, SecurityReport.self,
        SealedMessage.self,
        // What a phone reads of its server.
        OpenResponse.self, ProveResponse.self, ProvenActivation.self, ActivationRecord.self, EvaluationResponse.self,
        RequestDocument.self, PrepareResponse.self, PreparedSession.self, FinishResponse.self, AcceptedSession.self,
        RefusedAttempt.self, CodeResponse.self, SessionOffer.self, SessionDeadlines.self, CompleteResponse.self,
        IdentityProblem.self, LockoutNotice.self, ValidatorBounds.self,
    ]

    /// What any of them is read as must be written to something that reads as the same.
    static func holds(_ bytes: [UInt8]) -> Bool {
        self.kinds.allSatisfy { self.survives(bytes, $0) }
    }

    private static func survives<Message: IdentityMessage>(_ bytes: [UInt8], _ kind: Message.Type) -> Bool {
        guard let message = try? Message(parsing: bytes) else { return true }
        let written = message.serialized
        // What was left out can be written, and is then longer than what was read.
        guard written.count <= IdentityMessageError.maximumBytes else { return true }
        return (try? Message(parsing: written))?.serialized == written
    }
}
