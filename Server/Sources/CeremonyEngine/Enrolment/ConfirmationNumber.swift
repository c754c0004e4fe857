import Store
import _Primitives

/// The number that the phone of an enrolment shows, and whoever asked for the enrolment gives back.
extension CeremonyEnvironment {
    /// A number for a phone to show.
    func confirmationNumber() -> String {
        let bound = (0..<self.configuration.limits.confirmationDigits).reduce(UInt64(1)) { value, _ in value * 10 }
        let digits = String(self.random.number(below: bound))
        return String(repeating: "0", count: self.configuration.limits.confirmationDigits - digits.count) + digits
    }

    /// What is kept of a number, bound to its ceremony.
    func confirmationCode(_ number: String, ceremonyID: String) -> [UInt8] {
        self.sealing.code("\(ceremonyID) \(number)", purpose: .confirmationNumber)
    }
}
