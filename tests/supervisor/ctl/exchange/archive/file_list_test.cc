// SPDX-License-Identifier: Apache-2.0
#include "supervisor/ctl/exchange/archive/file_list.h"

#include "gtest/gtest.h"

namespace cohost::supervisor {
namespace {

const std::string kA(64, 'a');
const std::string kB(64, 'b');

FileList Sample() {
  FileList list;
  list.files = {{{kA, StoredKind::kModule}, 10, true, kB},
                {{kB, StoredKind::kDataImage}, 20, false, ""}};
  list.uses = {{"catalog", kA, "/srv/a b.so", ""},
               {"catalog", kB, "/srv/words.img", "words"},
               {"orders", kA, "/srv/a b.so", ""}};
  return list;
}

std::string Text() {
  return "file " + kA + ".so 10 in " + kB + "\nfile " + kB + ".img 20 out -\nuse catalog " + kA +
         " /srv/a%20b.so\nuse catalog " + kB + " /srv/words.img words\nuse orders " + kA +
         " /srv/a%20b.so\n";
}

TEST(FileList, IsWrittenAsItsSpecificationSaysInOrder) {
  FileList list = Sample();
  std::swap(list.files[0], list.files[1]);
  std::swap(list.uses[0], list.uses[2]);
  EXPECT_EQ(FormatFileList(list), Text());
}

TEST(FileList, ComesBack) {
  const auto list = ParseFileList(Text());
  ASSERT_TRUE(list.ok()) << list.status();
  EXPECT_EQ(*list, Sample());
  EXPECT_EQ(list->Find(kB)->size, 20u);
  EXPECT_EQ(list->Find(std::string(64, 'c')), nullptr);
}

TEST(FileList, AnEmptyDeploymentHasNone) {
  const auto list = ParseFileList("");
  ASSERT_TRUE(list.ok());
  EXPECT_EQ(*list, FileList());
}

TEST(FileList, RefusesEveryOtherLine) {
  const std::string file = "file " + kA + ".so 10 in -\n";
  const std::string use = "use a " + kA + " /a\n";
  ASSERT_TRUE(ParseFileList(file + use).ok());
  for (const std::string& text : {
           file,                                          // nothing uses it
           use,                                           // uses nothing of the list
           use + file,                                    // order
           file + file + use,                             // twice
           file + use + use,                              // twice
           file + use + file,                             // order
           file + "use b " + kA + " /a\n" + use,          // order
           file + "use a " + kB + " /a\n",                // another file
           file + "use a " + kA + " /a image\n",          // another kind
           file + "use a " + kA + " /a %\n",              // an image without a name
           file + "use a " + kA + "\n",                   // no source
           file + "use a " + kA + " /a b c\n",            // too much
           file + use + "\n",                             // an empty line
           file + use + "more\n",                         // unknown
           file + use.substr(0, use.size() - 1),          // cut
           "file " + kA + ".dll 10 in -\n" + use,         // not in this version
           "file " + kA + ".2.so 10 in -\n" + use,        // a further copy
           "file ../" + kA + ".so 10 in -\n" + use,       // a path
           "file " + kA + ".so 4294967297 in -\n" + use,  // larger than the store takes
           "file " + kA + ".so 10 maybe -\n" + use,       //
           "file " + kA + ".so 10 in x\n" + use,          // no hash
           "file " + kA + ".so 10 in\n" + use,            //
       }) {
    EXPECT_EQ(ParseFileList(text).status().code(), absl::StatusCode::kInvalidArgument) << text;
  }
}

}  // namespace
}  // namespace cohost::supervisor
