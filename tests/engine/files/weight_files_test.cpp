#include "engine/files/weight_files.h"

#include <sys/stat.h>

#include "tests/catch.h"
#include "tests/engine/files/model_copy.h"

namespace lockstep::engine {

namespace {

namespace fs = std::filesystem;

const char* const index_name = "model.safetensors.index.json";

}  // namespace

TEST_CASE("shards with an index open, links to files elsewhere too") {
  ModelCopy copy;
  copy.save_shards(3);
  CHECK(copy.refusal() == "");
  const tools::TemporaryDirectory elsewhere;
  const std::string shard = ModelCopy::shard(2, 3);
  fs::copy_file(copy / shard, elsewhere.path() / shard);
  fs::remove(copy / shard);
  fs::create_symlink(elsewhere.path() / shard, copy / shard);
  CHECK(copy.refusal() == "");
}

TEST_CASE("F47 a truncated shard is refused") {
  for (const size_t shards : {size_t{1}, size_t{3}}) {
    ModelCopy copy;
    std::string name = "model.safetensors";
    if (shards > 1) {
      copy.save_shards(shards);
      name = ModelCopy::shard(shards, shards);
    }
    REQUIRE(copy.refusal() == "");
    const uintmax_t size = fs::file_size(copy / name);
    for (const uintmax_t left : {size - 1, size - 4096, size / 2}) {
      fs::resize_file(copy / name, left);
      CHECK(has_all(copy.refusal(), {name, "cut short", std::to_string(left), std::to_string(size)}));
    }
  }
}

TEST_CASE("F47 a file that shrinks after it was opened is an error, not a signal") {
  ModelCopy copy;
  const Checkpoint checkpoint = Checkpoint::open(copy.directory());
  const uintmax_t size = fs::file_size(copy / "model.safetensors");
  fs::resize_file(copy / "model.safetensors", 40000);
  const auto said = [&](const auto& read) -> std::string {
    try {
      read();
      return "";
    } catch (const CheckpointError& error) {
      return error.what();
    }
  };
  const std::string sizes[] = {std::to_string(size), "40000"};
  CHECK(has_all(said([&] { checkpoint.matrix("mtp.fc", 128, 256); }),
                {"model.safetensors", "shrank", sizes[0], sizes[1]}));
  CHECK(has_all(said([&] { checkpoint.floats("mtp.norm.weight", 128); }), {"shrank", sizes[0], sizes[1]}));
  CHECK(has_all(said([&] { checkpoint.fingerprint(); }), {"shrank", sizes[0], sizes[1]}));
}

TEST_CASE("F50 missing shards are listed") {
  ModelCopy copy;
  copy.save_shards(4);
  fs::remove(copy / ModelCopy::shard(2, 4));
  CHECK(has_all(copy.refusal(), {"lacks 1 file", index_name, ModelCopy::shard(2, 4)}));
  fs::remove(copy / ModelCopy::shard(4, 4));
  CHECK(has_all(copy.refusal(), {"lacks 2 files", ModelCopy::shard(2, 4), ModelCopy::shard(4, 4)}));
}

TEST_CASE("F50 directories that hold no model are refused") {
  const auto said = [](const fs::path& directory) -> std::string {
    try {
      Checkpoint::open(directory);
      return "";
    } catch (const CheckpointError& error) {
      return error.what();
    }
  };
  const tools::TemporaryDirectory empty;
  CHECK(has_all(said(empty.path()), {"config.json", "No such file"}));
  CHECK(has_all(said(empty.path() / "nowhere"), {"nowhere", "No such file"}));
  ModelCopy copy;
  CHECK(has_all(said(copy / "config.json"), {"config.json", "not a directory"}));
  fs::remove(copy / "model.safetensors");
  CHECK(has_all(copy.refusal(), {"neither model.safetensors nor", index_name}));
  fs::create_directory(copy / "model.safetensors");
  CHECK(has_all(copy.refusal(), {"model.safetensors", "not a file"}));
  fs::remove(copy / "model.safetensors");
  REQUIRE(mkfifo((copy / "model.safetensors").c_str(), 0600) == 0);
  CHECK(has_all(copy.refusal(), {"model.safetensors", "not a file"}));
}

TEST_CASE("F50 an index cannot name files outside the directory") {
  for (const char* path : {"../x", "../x.safetensors", "/etc/passwd", "/x.safetensors", "a/b.safetensors",
                           "..", "", ".hidden.safetensors", "x.bin", "a\\u0000.safetensors"}) {
    ModelCopy copy;
    copy.save_shards(2);
    copy.edit(index_name, ModelCopy::shard(2, 2), path);
    CHECK(has_all(copy.refusal(), {index_name, "mapped to", "directory are read"}));
  }
}

TEST_CASE("F50 an index of the wrong form is refused") {
  ModelCopy copy;
  const auto with = [&](std::string_view text) {
    tools::write_file(copy / index_name, text);
    return copy.refusal();
  };
  CHECK(has_all(with(""), {index_name, "not valid JSON"}));
  CHECK(has_all(with("[]"), {index_name, "must be an object"}));
  CHECK(has_all(with("{}"), {index_name, "weight_map", "missing"}));
  CHECK(has_all(with("{\"weight_map\": []}"), {index_name, "must be an object, not a list"}));
  CHECK(has_all(with("{\"weight_map\": {}}"), {index_name, "maps no tensor"}));
  CHECK(has_all(with("{\"weight_map\": {\"a\": 1}}"), {index_name, "weight_map.a", "name a file"}));
  fs::remove(copy / index_name);
  fs::create_symlink("nowhere", copy / index_name);
  CHECK(has_all(copy.refusal(), {index_name, "No such file"}));
}

TEST_CASE("F51 a tensor in two shards is refused, naming both") {
  ModelCopy copy;
  copy.save_shards(2);
  LoadedFile second = load_safetensors(copy / ModelCopy::shard(2, 2));
  second.push_back(copy.tensors[0]);
  save_safetensors(copy / ModelCopy::shard(2, 2), second);
  CHECK(has_all(copy.refusal(),
                {copy.tensors[0].name, "in two files", ModelCopy::shard(1, 2), ModelCopy::shard(2, 2)}));
}

TEST_CASE("F51 a name twice in the index is refused, naming both") {
  ModelCopy copy;
  copy.save_shards(2);
  const std::string line = "\"" + copy.tensors[0].name + "\": \"";
  copy.edit(index_name, line, line + ModelCopy::shard(2, 2) + "\",\n" + line);
  CHECK(has_all(copy.refusal(),
                {index_name, copy.tensors[0].name, "twice", ModelCopy::shard(1, 2), ModelCopy::shard(2, 2)}));
}

TEST_CASE("F51 one tensor under two prefixes is refused, naming both") {
  ModelCopy copy;
  LoadedTensor twin = copy.tensor("model.norm.weight");
  twin.name = "model.norm.weight";
  copy.tensors.push_back(twin);
  copy.save();
  CHECK(has_all(copy.refusal(), {"\"model.norm.weight\"", "\"language_model.model.norm.weight\""}));
}

TEST_CASE("F52 a second set of weights is refused") {
  ModelCopy copy;
  copy.save_shards(2);
  copy.save();
  CHECK(has_all(copy.refusal(), {"model.safetensors\"", "lies beside", index_name}));
  fs::copy_file(copy / "model.safetensors", copy / "old.safetensors");
  CHECK(has_all(copy.refusal(), {"\"model.safetensors\" and \"old.safetensors\"", "do not belong"}));
  fs::remove(copy / index_name);
  CHECK(copy.refusal() != "");
  fs::remove(copy / ModelCopy::shard(1, 2));
  fs::remove(copy / ModelCopy::shard(2, 2));
  CHECK(has_all(copy.refusal(), {"old.safetensors", "lies beside model.safetensors"}));
  fs::remove(copy / "old.safetensors");
  CHECK(copy.refusal() == "");
}

TEST_CASE("F52 shards without their index are refused") {
  ModelCopy copy;
  copy.save_shards(2);
  fs::remove(copy / index_name);
  CHECK(has_all(copy.refusal(), {"neither", ModelCopy::shard(1, 2), "write an index"}));
}

TEST_CASE("F52 an index that was not written anew is refused") {
  ModelCopy copy;
  copy.save_shards(2);
  const std::string first = ModelCopy::shard(1, 2), second = ModelCopy::shard(2, 2),
                    name = copy.tensors[0].name;
  copy.edit(index_name, "\"" + name + "\"", "\"model.old.weight\"");
  CHECK(has_all(copy.refusal(), {index_name, "1 tensor ", "do not hold", "\"model.old.weight\""}));
  copy.edit(index_name, "\n\"model.old.weight\": \"" + first + "\",", "");
  CHECK(has_all(copy.refusal(), {index_name, "1 tensor ", "does not name", name}));
  copy.edit(index_name, "\"weight_map\": {", "\"weight_map\": {\"" + name + "\": \"" + second + "\",");
  CHECK(has_all(copy.refusal(), {index_name, name, "says", first, second}));
}

TEST_CASE("a multi-token head may lie in a file of its own") {
  for (const bool sharded : {false, true}) {
    ModelCopy copy;
    const std::string whole = Checkpoint::open(copy.directory()).fingerprint();
    LoadedFile head;
    std::erase_if(copy.tensors, [&](LoadedTensor& tensor) {
      const bool mtp = tensor.name.starts_with("language_model.mtp.");
      if (mtp) head.push_back(tensor);
      return mtp;
    });
    if (sharded)
      copy.save_shards(2);
    else
      copy.save();
    CHECK(Checkpoint::open(copy.directory()).config().mtp_layers == 0);
    CHECK(Checkpoint::open(copy.directory()).fingerprint() != whole);
    for (LoadedTensor& tensor : head) tensor.name.erase(0, std::string_view("language_model.").size());
    save_safetensors(copy / "mtp.safetensors", head);
    CHECK(Checkpoint::open(copy.directory()).config().mtp_layers == 1);
    CHECK(Checkpoint::open(copy.directory()).fingerprint() == whole);
    head.pop_back();
    save_safetensors(copy / "mtp.safetensors", head);
    CHECK(has_all(copy.refusal(), {"lacks 1 tensor", "\"mtp."}));
    head.push_back(copy.tensors[0]);
    save_safetensors(copy / "mtp.safetensors", head);
    CHECK(has_all(copy.refusal(), {"mtp.safetensors", copy.tensors[0].name}));
    save_safetensors(copy / "mtp.safetensors", {});
    CHECK(has_all(copy.refusal(), {"mtp.safetensors", "is empty"}));
  }
}

TEST_CASE("files in the form of PyTorch are refused: their norms mean something else") {
  ModelCopy copy;
  save_safetensors(copy / "model.safetensors", copy.tensors, "pt");
  CHECK(has_all(copy.refusal(), {"model.safetensors", "\"pt\"", "mlx_lm.convert"}));
}

}  // namespace lockstep::engine
