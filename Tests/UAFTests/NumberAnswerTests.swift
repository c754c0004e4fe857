import Testing
import UAF

@Suite("Decision 120: the number that a person types, in the data that a key signs")
struct NumberAnswerTests {
    private static let challenge = "challenge"
    private static let hash = FinalChallengeParams.hash(ofEncoded: challenge)

    @Test("The number is found again, bound to its challenge")
    func number() throws {
        let told = NumberAnswer.assertionExtension(number: "004711", finalChallenge: Self.challenge)
        #expect(told.id == "countersign.number.1" && !told.isCritical && told.data.count == 32)
        let answer = try #require(try NumberAnswer(among: [told], finalChallengeHash: Self.hash))
        #expect(answer.isNumber("004711"))
        for other in ["004712", "4711", "0047110", ""] { #expect(!answer.isNumber(other), "\(other)") }
        let elsewhere = try NumberAnswer(
            among: [told], finalChallengeHash: FinalChallengeParams.hash(ofEncoded: "another"))
        #expect(elsewhere?.isNumber("004711") == false)
    }

    @Test("Other extensions are passed over; two numbers and other lengths are refused")
    func forms() throws {
        let told = NumberAnswer.assertionExtension(number: "1", finalChallenge: Self.challenge)
        let other = AssertionExtension(id: "countersign.number.2", data: told.data, isCritical: false)
        #expect(try NumberAnswer(among: [other], finalChallengeHash: Self.hash) == nil)
        #expect(throws: UAFError(.duplicateTag, "")) {
            try NumberAnswer(among: [told, told], finalChallengeHash: Self.hash)
        }
        for data in [[], told.data + [0], Array(told.data.dropLast())] {
            let wrong = AssertionExtension(id: told.id, data: data, isCritical: false)
            #expect(throws: UAFError(.invalidLength, "")) {
                try NumberAnswer(among: [wrong], finalChallengeHash: Self.hash)
            }
        }
    }

    @Test(
        "A request says how many digits to type, from one to twelve",
        arguments: [(1, true), (12, true), (0, false), (13, false)])
    func length(digits: Int, isTaken: Bool) throws {
        var request = ReturnUAFRequest(statusCode: .ok, operation: .authentication)
        request.numberLength = digits
        let read = try? ReturnUAFRequest(parsing: request.serialized)
        #expect((read == request) == isTaken && (read == nil) != isTaken)
        var response = ServerResponse(statusCode: .unacceptableContent)
        response.isNumberWrong = true
        #expect(try ServerResponse(parsing: response.serialized) == response)
    }
}
