import OAuthProvider
import Settings
import Testing
import _Primitives

@Suite("The simulated register of people: what a file of it may have (decision 55)")
struct SimulatedPeopleTests {
    private static let good = #"{"username":"alice","mhv_ids":["1"],"edipis":[],"corp_ids":["1"],"locked":false}"#

    private func refusal(_ text: String) -> SimulatedPeopleError? {
        do {
            _ = try SimulatedPeople(parsing: Array(text.utf8))
            return nil
        } catch {
            return error
        }
    }

    @Test("lines of people are taken, with or without an end of the last one, and none at all")
    func taken() {
        for text in [
            "", Self.good, Self.good + "\n",
            Self.good + "\n" + #"{"provider":"idme","subject":"a","ssn":"123456789","locked":true}"#,
            #"{"provider":"idme","subject":"a"}"# + "\n" + #"{"provider":"mhv","subject":"a"}"#,
        ] {
            #expect(self.refusal(text) == nil, "\(text)")
        }
    }

    @Test("whatever is not right is refused with its line, and nothing of the line is repeated")
    func refused() {
        let texts = (0...Limits.Fixed.simulatedIdentifiers).map { "\"\($0)\"" }.joined(separator: ",")
        for line in [
            "", "{", "[]", "{}", #"{"username":""}"#, #"{"username":1}"#, #"{"username":"bob","provider":"idme"}"#,
            #"{"provider":"idme"}"#, #"{"subject":"secret"}"#, #"{"username":"bob","other":"secret"}"#,
            #"{"username":"bob","username":"bob"}"#, #"{"username":"bob","ssn":"12345678"}"#,
            #"{"username":"bob","ssn":"123-45-6789"}"#, #"{"username":"bob","ssn":"12345678x"}"#,
            #"{"username":"bob","locked":"yes"}"#, #"{"username":"bob","edipis":"1"}"#,
            #"{"username":"bob","edipis":[""]}"#, #"{"username":"bob","edipis":[1]}"#,
            #"{"username":"bob","edipis":[\#(texts)]}"#, "# a remark", Self.good,
            #"{"username":"\#(String(repeating: "b", count: Limits.Fixed.simulatedTextBytes + 1))"}"#,
            #"{"username":"bob","mhv_ids":["\#(String(repeating: " ", count: Limits.Fixed.simulatedPersonBytes))"]}"#,
        ] {
            let refusal = self.refusal(Self.good + "\n" + line + "\n")
            #expect(refusal?.line == 2, "\(line)")
            #expect(refusal?.reason.isEmpty == false && refusal?.reason.contains("secret") == false, "\(line)")
        }
    }

    @Test("a file that is too long is refused whole")
    func tooLong() {
        let line = #"{"provider":"idme","subject":"#
        let many = (0...Limits.Fixed.simulatedPeopleLines).map { "\(line)\"\($0)\"}" }.joined(separator: "\n")
        #expect(self.refusal(many).map { $0.line == nil } == true)
        #expect(self.refusal(String(repeating: "\n", count: Limits.Fixed.simulatedPeopleBytes + 1))?.line == nil)
    }
}
